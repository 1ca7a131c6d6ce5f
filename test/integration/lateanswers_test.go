package integration

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// Every answer of every master is late, by more than the command timeout and less than an
// eighth of the TTL. What is held stays held.
func TestAnswersThatAreAllLateLoseNoLock(t *testing.T) {
	p := startProcesses(t, 3)
	s := time.Second
	var locks []*redlock.Lock
	var all []*redistest.Proxy
	delays := make(map[*redlock.Lock]string)
	for _, late := range []time.Duration{150 * time.Millisecond, 350 * time.Millisecond, 600 * time.Millisecond, 900 * time.Millisecond} {
		behind := masters{t: t}
		var proxies []*redistest.Proxy
		for _, server := range p.servers {
			proxy, err := redistest.NewProxy(server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			proxies = append(proxies, proxy)
			behind.urls = append(behind.urls, "redis://"+proxy.Addr())
		}
		for _, ttl := range []time.Duration{8 * s, 10 * s, 30 * s} {
			l := mustTry(t, behind.openBrisk(redlock.WithTTL(ttl), redlock.WithMaxTTL(30*s)), fmt.Sprintf("%v %v", late, ttl))
			locks = append(locks, l)
			delays[l] = fmt.Sprintf("answers %v late, TTL %v", late, ttl)
		}
		for _, proxy := range proxies {
			proxy.Delay(late / 2)
		}
		all = append(all, proxies...)
	}
	time.Sleep(21 * s) // twice the TTL of most
	for _, l := range locks {
		if l.Remaining() == 0 {
			t.Errorf("%s: %v", delays[l], context.Cause(l.Context()))
		}
	}
	for _, proxy := range all {
		proxy.Heal()
	}
	for _, l := range locks {
		_ = l.Unlock(context.Background()) // it is sent, though it may be too late to be confirmed
		p.wantFree(l.Key())
	}
}

// A process has one processor and twenty goroutines that never wait. All that it sends and
// receives is late.
func TestABusyProcessorLosesNoLock(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.openBrisk()
	var locks []*redlock.Lock
	for i := range 100 {
		locks = append(locks, mustTry(t, c, fmt.Sprintf("lock %d", i)))
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
	p := startProcesses(t, 3)
	var locks []*redlock.Lock
	for i := range 20 {
		locks = append(locks, mustTry(t, p.openBrisk(), fmt.Sprintf("lock %d", i)))
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
