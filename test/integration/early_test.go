package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// An attempt that cannot succeed any more is over at once, whatever the other
// masters do: one that hangs is not waited for, also where the number of
// masters is even and more than half are needed.
func TestAnImpossibleQuorumIsReportedAtOnceThoughAMasterHangs(t *testing.T) {
	const timeout = time.Second
	for _, test := range []struct {
		masters         int
		foreign, killed []int
		frozen          []int
		kind            error
	}{
		{4, []int{0, 1}, nil, []int{2}, redlock.ErrTaken},
		{4, nil, []int{0, 1}, []int{2}, redlock.ErrNoQuorum},
		{4, []int{3}, []int{0}, []int{2}, redlock.ErrTaken},
		{5, []int{0, 1, 2}, nil, []int{3, 4}, redlock.ErrTaken},
		{5, []int{2, 3}, []int{4}, []int{0, 1}, redlock.ErrTaken},
		{5, nil, []int{2, 3, 4}, []int{0, 1}, redlock.ErrNoQuorum},
		{6, []int{3, 4, 5}, nil, []int{0}, redlock.ErrTaken},
		{6, nil, []int{3, 4, 5}, []int{0}, redlock.ErrNoQuorum},
		{6, []int{1, 2}, []int{5}, []int{0, 3}, redlock.ErrTaken},
	} {
		name := fmt.Sprintf("%d masters,foreign%v,down%v,frozen%v", test.masters, test.foreign, test.killed, test.frozen)
		t.Run(name, func(t *testing.T) {
			p := startProcesses(t, test.masters)
			p.trusting = true
			c := p.open(redlock.WithPool(pool.WithCommandTimeout(timeout), pool.WithStallLimit(time.Minute)))
			p.foreign("lock", strangersToken, test.foreign...)
			p.kill(test.killed...)
			awaitRefused(t, c, test.killed...)
			p.freeze(test.frozen...)
			var took latencies
			for range 10 {
				var err error
				took = append(took, timed(func() { _, err = c.TryLock(context.Background(), "lock") }))
				wantExactly(t, "TryLock", err, test.kind)
				if e := quorumError(t, err).Elapsed; e > timeout/2 {
					t.Errorf("the attempt took %v by its own account", e)
				}
			}
			took.wantQuorumLatency(t, "TryLock", timeout)
			p.thaw(test.frozen...)
			for _, i := range test.foreign {
				if v := p.value(i, "lock"); v != strangersToken {
					t.Errorf("master %d: the foreign key is %q now", i, v)
				}
				p.do(i, "DEL", "lock")
			}
			p.wantFree("lock")
		})
	}
}
