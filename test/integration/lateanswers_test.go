package integration

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A process has one processor and twenty goroutines that never wait. Whatever it sends and
// receives is late.
func TestABusyProcessorLosesNoLock(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.openBrisk()
	var locks []*redlock.Lock
	for i := range 100 {
		locks = append(locks, mustLock(t, c, fmt.Sprintf("lock %d", i)))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	for range 20 {
		go func() {
			for !over.Load() {
			}
		}()
	}
	time.Sleep(25 * time.Second) // twice the TTL and more
	over.Store(true)
	lost, why := 0, ""
	for _, l := range locks {
		if l.Remaining() == 0 {
			lost, why = lost+1, context.Cause(l.Context()).Error()
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d are lost: %s", lost, len(locks), strings.TrimSpace(why))
	}
}

// All masters stand still for six seconds, at any moment between two renewals of a lock with
// the default TTL.
func TestMastersThatAreAllSilentForSixSecondsLoseNoLock(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 3)
	var locks []*redlock.Lock
	for i := range 20 {
		locks = append(locks, mustLock(t, p.openBrisk(), fmt.Sprintf("lock %d", i)))
		time.Sleep(150 * time.Millisecond) // all moments of a renewal's interval
	}
	p.freeze(0, 1, 2)
	time.Sleep(6 * time.Second) // the fault itself
	p.thaw(0, 1, 2)
	time.Sleep(4 * time.Second) // more than any lock had left
	for _, l := range locks {
		if l.Remaining() == 0 {
			t.Errorf("%q: %v", l.Key(), context.Cause(l.Context()))
		}
	}
}
