package integration

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/redlock"
)

const fencePrefix = "redquorum:fence:1:"

// dropFences deletes what outlives fenced locks, when the clients that are opened
// later are closed.
func (p *processes) dropFences() {
	p.t.Cleanup(func() {
		p.each(func(i int) {
			names, err := redis.Values(p.do(i, "KEYS", "redquorum:*:1:*"), nil)
			if err != nil {
				p.t.Error(err)
			}
			for _, name := range names {
				if s, ok := name.([]byte); ok && (strings.HasPrefix(string(s), fencePrefix) || strings.HasPrefix(string(s), "redquorum:lease:1:")) {
					p.do(i, "DEL", s)
				}
			}
		})
	})
}

// A key of another type at a fence's name costs that master's vote, and no more.
func TestAFenceOfAnotherTypeGrantsNothing(t *testing.T) {
	p := startProcesses(t, five)
	p.dropFences()
	c := p.open(redlock.WithFencing())
	first := mustTry(t, c, "lock")
	mustUnlock(t, first)
	for i := range 2 {
		p.do(i, "DEL", fencePrefix+"lock")
		p.do(i, "HSET", fencePrefix+"lock", "field", "value")
	}
	second := mustTry(t, c, "lock")
	if second.Fence() <= first.Fence() {
		t.Errorf("token %d after %d", second.Fence(), first.Fence())
	}
	mustUnlock(t, second)
	p.do(2, "SET", fencePrefix+"lock", "not a number")
	_, err := c.TryLock(context.Background(), "lock")
	if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "FENCE what is at "+fencePrefix+"lock") {
		t.Errorf("with three fences that are none: %v", err)
	}
	p.each(func(i int) {
		eventually(t, "no lock is left", func() bool { return p.value(i, "lock") == "" })
	})
	if kind, _ := redis.String(p.do(0, "TYPE", fencePrefix+"lock"), nil); kind != "hash" {
		t.Errorf("the other key is a %s now", kind)
	}
}
