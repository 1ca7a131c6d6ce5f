package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// refusing answers these commands with an error.
func refusing(text string, commands ...string) func(string) string {
	return func(cmd string) string {
		if slices.Contains(commands, cmd) {
			return text
		}
		return ""
	}
}

// repeat calls f n times, and waits after each call.
func repeat(n int, every time.Duration, f func()) {
	for range n {
		f()
		time.Sleep(every)
	}
}

func TestEachAlertFiresByItsFault(t *testing.T) {
	full := func(_ *testing.T, w *world) {
		for _, m := range w.All[:3] {
			m.Refuse(refusing("OOM command not allowed when used memory > 'maxmemory'.", "SET", "EVALSHA"))
		}
	}
	busy := func(_ *testing.T, w *world) {
		for _, m := range w.All[:3] {
			m.Refuse(refusing("BUSY Redis is busy running a script.", "SET", "EVAL", "EVALSHA", "INFO", "HMGET"))
		}
	}
	faults := map[string][]struct {
		length time.Duration
		fault  func(*testing.T, *world)
	}{
		"RedlockNoQuorum": {
			{5 * time.Minute, full}, {5 * time.Minute, busy},
			{5 * time.Minute, func(_ *testing.T, w *world) { w.Kill(0, 1, 2) }},
		},
		"RedlockTargetGone": {{10 * time.Minute, func(_ *testing.T, w *world) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.gone = true
		}}},
		"RedlockQuorumAtRisk":   {{10 * time.Minute, func(_ *testing.T, w *world) { w.Kill(0, 1) }}},
		"RedlockMasterDown":     {{10 * time.Minute, func(_ *testing.T, w *world) { w.Kill(0) }}},
		"RedlockMasterClockOff": {{10 * time.Minute, func(_ *testing.T, w *world) { w.All[0].SetClockOffset(time.Second) }}},
		"RedlockMasterDoesNotVote": {{5 * time.Minute, func(_ *testing.T, w *world) {
			w.Ask(0, "HSET", guard.Key, "maxttl", "1000")
		}}},
		"RedlockCallsWithoutQuorum": {{10 * time.Minute, full}},
		"RedlockLocksLost": {{5 * time.Minute, func(_ *testing.T, w *world) { w.Kill(0, 1, 2) }}, {5 * time.Minute, func(_ *testing.T, w *world) {
			repeat(3, 40*time.Second, func() { w.release("held") })
		}}},
		"RedlockRenewalsFail": {{15 * time.Minute, func(_ *testing.T, w *world) {
			repeat(50, 15*time.Second, func() {
				w.Freeze(0, 1, 2)
				time.Sleep(3 * time.Second)
				w.Thaw(0, 1, 2)
			})
		}}},
		"RedlockLongWaits": {{30 * time.Minute, func(t *testing.T, w *world) {
			repeat(20, time.Second, func() {
				l, err := w.client.Lock(t.Context(), "long")
				if err != nil {
					t.Error(err)
					return
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = w.client.Do(t.Context(), "long", func(context.Context) error { return nil }, redlock.WithWait(2*time.Minute))
				}()
				time.Sleep(time.Minute)
				_ = l.Unlock(t.Context())
				<-done
			})
		}}},
		"RedlockReleasesUnconfirmed": {{15 * time.Minute, func(t *testing.T, w *world) {
			repeat(20, 30*time.Second, func() {
				l, err := w.client.Lock(t.Context(), "released")
				if err != nil {
					t.Error(err)
					return
				}
				w.Freeze(0, 1, 2)
				_ = l.Unlock(t.Context())
				w.Thaw(0, 1, 2)
			})
		}}},
		"RedlockMasterSlow": {{25 * time.Minute, func(_ *testing.T, w *world) {
			repeat(1200, time.Second, func() {
				w.Freeze(0)
				time.Sleep(200 * time.Millisecond)
				w.Thaw(0)
			})
		}}},
		"RedlockMasterOfNoUse": {{15 * time.Minute, func(_ *testing.T, w *world) {
			w.All[0].Refuse(refusing("MISCONF Redis is configured to save RDB snapshots", "SET", "EVALSHA"))
		}}},
		"RedlockMasterFlaps": {{10 * time.Minute, func(_ *testing.T, w *world) {
			repeat(8, 20*time.Second, func() {
				w.Kill(0)
				w.Restart(true, 0)
			})
		}}},
	}
	for _, r := range rules(t) {
		if faults[r.Alert] == nil {
			t.Errorf("%s has no fault here", r.Alert)
		}
		for i, f := range faults[r.Alert] {
			t.Run(fmt.Sprint(r.Alert, " ", i), func(t *testing.T) {
				if got := fired(t, record(t, f.length, f.fault)); !slices.Contains(got, r.Alert) {
					t.Errorf("its fault fires %v", got)
				}
			})
		}
	}
}

// release replaces the holder's token by an operator's, as redlock release does.
func (w *world) release(key string) {
	for i := range w.All {
		w.Ask(i, "SET", key, "an operator's", "XX", "PX", 5000)
	}
}

// None of these faults needs anybody to act.
func TestNoAlertFiresForFaultsThatEndByThemselves(t *testing.T) {
	for name, fault := range map[string]func(*testing.T, *world){
		"nothing happens": func(*testing.T, *world) {},
		"a pause of 3.3 s": func(_ *testing.T, w *world) {
			w.Freeze(0, 1, 2)
			time.Sleep(3300 * time.Millisecond)
			w.Thaw(0, 1, 2)
		},
		"a pause of 3.3 s of all": func(_ *testing.T, w *world) {
			w.Freeze(0, 1, 2, 3, 4)
			time.Sleep(3300 * time.Millisecond)
			w.Thaw(0, 1, 2, 3, 4)
		},
		"a rolling restart": func(t *testing.T, w *world) {
			for i := range w.All {
				w.Kill(i)
				time.Sleep(10 * time.Second)
				w.Restart(true, i)
				for time.Sleep(time.Second); !w.client.Masters()[i].Votes; time.Sleep(time.Second) {
				}
			}
		},
		"an operator's release": func(_ *testing.T, w *world) { w.release("held") },
	} {
		t.Run(name, func(t *testing.T) {
			if got := fired(t, record(t, 15*time.Minute, fault)); len(got) > 0 {
				t.Errorf("it fires %s", strings.Join(got, ", "))
			}
		})
	}
}
