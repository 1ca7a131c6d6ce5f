package fleets

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/hash"
	"github.com/redquorum/redquorum/redlock"
)

func settledShards(n int) *Shards {
	s := &Shards{}
	for i := range n {
		name := fmt.Sprint("shard-", i)
		s.shards = append(s.shards, shard{name: name, weight: hash.Text(name)})
	}
	s.settled.Store(true)
	return s
}

// What Sharded adds to a client's call is the choice of the shard, and the hold's type.
func TestAShardCostsNoAllocationMoreThanItsClient(t *testing.T) {
	s, l := settledShards(4), new(redlock.Lock)
	var h Hold
	var err error
	if n := testing.AllocsPerRun(1000, func() {
		if err = s.check(); err == nil {
			h, err = s.of("invoice:42").hold(l, nil)
		}
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
	if h.(shardHold).Lock != l {
		t.Error("the hold is not the client's lock")
	}
}

// BenchmarkShard is what Sharded adds to a call: a pair of lock and unlock costs the
// client some 10 µs.
func BenchmarkShard(b *testing.B) {
	for _, n := range []int{1, 2, 4, 16} {
		s, l := settledShards(n), new(redlock.Lock)
		b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s.check() == nil {
					_, _ = s.of("orders/2026/11/42").hold(l, nil)
				}
			}
		})
	}
}
