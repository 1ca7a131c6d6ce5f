package fleets

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/hash"
	"github.com/redquorum/redquorum/redlock"
)

// What Sharded adds to a client's call is the choice of the shard, and the hold's type.
func TestAShardCostsNoAllocationMoreThanItsClient(t *testing.T) {
	s := &Shards{}
	for i := range 4 {
		name := fmt.Sprint("shard-", i)
		s.shards = append(s.shards, shard{name: name, weight: hash.Text(name)})
	}
	s.settled.Store(true)
	l := new(redlock.Lock)
	var h Hold
	var err error
	if n := testing.AllocsPerRun(1000, func() {
		if err = s.check(); err == nil {
			h, err = s.of("invoice:42").hold(l, nil)
		}
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
	if h.(*shardHold).lock() != l {
		t.Error("the hold is not the client's lock")
	}
}
