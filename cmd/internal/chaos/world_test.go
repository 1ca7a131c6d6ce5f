package chaos

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/redlock"
)

// play runs a script in virtual time. look, which may be nil, is called every
// half second.
func play(t *testing.T, script string, change func(*Options), look func(*World)) (result *Result, events []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := simmaster.StartMemoryCluster(5)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		faults, err := stage.Parse(strings.NewReader(script), 5)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{
			Options: stage.Options{Cluster: stage.Embed(cluster), TTL: defaultTTL, Dial: cluster.Dialer(), Program: "test"},
			Hold:    DefaultHold, Script: faults,
			Told: func(e Event) { events = append(events, e.Text) },
		}
		if change != nil {
			change(&o)
		}
		w, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if look != nil {
						look(w)
					}
				case <-done:
					return
				}
			}
		})
		result = w.Run(t.Context())
		close(done)
		wg.Wait()
		time.Sleep(o.TTL) // masters that were let go at the end have work to do
		for _, m := range cluster.Masters() {
			keys := slices.DeleteFunc(m.Keys(), func(k string) bool { return strings.HasPrefix(k, "redquorum:") })
			if m.Up() && (m.Frozen() || m.Connections() > 0 || len(keys) > 0) {
				t.Errorf("%s: frozen %v, %d connections, keys %q", m.Name(), m.Frozen(), m.Connections(), keys)
			}
		}
	})
	return result, events
}

func TestTheLockHoldsThroughTheTour(t *testing.T) {
	states := map[string]bool{}
	offset := time.Duration(0)
	var least, most Snapshot
	least.Serving = 5
	r, events := play(t, stage.Tour, nil, func(w *World) {
		s := w.Snapshot()
		for _, m := range s.Masters {
			states[m.State] = true
			offset = max(offset, m.Offset)
		}
		if s.Serving < least.Serving {
			least = s
		}
		most = s
	})
	if r.Verdict != VerdictHeld || r.Check.Broken() || r.Counts.Acquired < 30 || r.Counts.Failed != 0 || int64(r.Check.Holds) != r.Counts.Acquired || r.Check.Tokens < 30 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"up", "killed", "frozen", "cut off"} {
		if !states[want] {
			t.Errorf("no master was seen to be %s: %v", want, states)
		}
	}
	if least.Serving != 2 || most.Serving != 5 || offset < 250*time.Millisecond || offset > 350*time.Millisecond {
		t.Errorf("%d to %d masters served, a clock was off by %v", least.Serving, most.Serving, offset)
	}
	text := strings.Join(events, "\n")
	for _, want := range []string{"master 1 killed", "master 2 thawed", "no quorum: 2 of 5 serve, 3 needed", "a quorum serves again: 3 of 5", "master 2 restarted empty", "master 3 has its clock set off by +300ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("not told: %s in\n%s", want, text)
		}
	}
	if r.Counts.Refused == 0 {
		t.Error("nobody was refused while there was no quorum")
	}
}

func TestClocksThatAreAllSetForwardBreakTheLock(t *testing.T) {
	r, events := play(t, "2s skew all 60s\n2500ms skew all 120s\n3s skew all 180s\n3500ms skew all 240s\n5s end", func(o *Options) { o.Hold = time.Second }, nil)
	if r.Verdict != VerdictBroken || r.Check.Overlaps == 0 || !strings.Contains(r.Sentence(), "two held the lock at once, ") {
		t.Errorf("%+v: %s", r, r.Sentence())
	}
	if !strings.Contains(strings.Join(events, "\n"), " hold the lock at once") {
		t.Errorf("%q", events)
	}
}

// jump sets all clocks forward and soon right again, which lets the masters
// forget a lock that is held: the third contender comes while it is.
const jump = "2s skew all 60s\n2300ms skew all 0s\n4s skew all 60s\n4300ms skew all 0s\n7s end"

func TestAtTheLevelStrictAJumpThatIsCorrectedBreaksNothing(t *testing.T) {
	breaksOnlyBelow(t, jump, redlock.GuardStandard, redlock.GuardStrict)
}

// breaksOnlyBelow plays a script at two levels: the lower one lets it break the
// lock, if not every time, since who comes when is left to chance; the higher one
// never does.
func breaksOnlyBelow(t *testing.T, script string, lower, higher redlock.GuardLevel) {
	t.Helper()
	const tries = 10
	at := func(level redlock.GuardLevel) (*Result, string) {
		r, events := play(t, script, func(o *Options) {
			o.Hold, o.Client = 3*time.Second, []redlock.Option{redlock.WithGuard(level)}
		}, nil)
		if r.Check.Holds == 0 {
			t.Errorf("%v: nothing was held: %+v", level, r)
		}
		return r, strings.Join(events, "\n")
	}
	for try := 1; ; try++ {
		if r, events := at(higher); r.Verdict != VerdictHeld {
			t.Errorf("%v: %+v\n%s", higher, r, events)
		}
		r, events := at(lower)
		if r.Verdict == VerdictBroken {
			return
		}
		if try == tries {
			t.Fatalf("%v: not broken in %d tries, at last %+v\n%s", lower, tries, r, events)
		}
	}
}

func TestAtTheLevelOffEmptiedMastersBreakTheLock(t *testing.T) {
	breaksOnlyBelow(t, "2s empty 1,2,3\n2500ms empty 1,2,3\n8s end", redlock.GuardOff, redlock.GuardStandard)
}

func TestAHolderThatCannotRenewLosesTheLockInTime(t *testing.T) {
	r, events := play(t, "3s kill 1,2,3\n12s end", func(o *Options) { o.Hold = 20 * time.Second }, nil)
	if r.Verdict != VerdictHeld || r.Counts.Lost != 1 || !strings.Contains(strings.Join(events, "\n"), "lost the lock: ") {
		t.Errorf("%+v\n%q", r, events)
	}
}

func TestWithoutAnyHoldNothingWasChecked(t *testing.T) {
	r, _ := play(t, "3s end", func(o *Options) {
		for _, m := range o.Cluster.Masters {
			_ = m.Kill() // has no error
		}
	}, nil)
	if r.Verdict != VerdictUntested || r.Sentence() != "nobody ever had the lock, so nothing was checked, in 3.0 s" {
		t.Errorf("%+v: %s", r, r.Sentence())
	}
}

func TestWhatIsNotThereCannotBeFrozen(t *testing.T) {
	r, events := play(t, "1s kill 1\n1s freeze 1\n2s restart 1\n3s freeze 1\n4s end", nil, nil)
	if text := strings.Join(events, "\n"); !strings.Contains(text, "freeze 1: it is not running") || !strings.Contains(text, "master 1 frozen") {
		t.Errorf("%s", text)
	}
	if r.Verdict != VerdictHeld {
		t.Errorf("%+v", r)
	}
}

func TestItEndsWithTheTimeThatItIsGiven(t *testing.T) {
	r, _ := play(t, "1h end", func(o *Options) { o.Duration = 3 * time.Second }, nil)
	if r.DurationMS != 3000 {
		t.Errorf("%d ms", r.DurationMS)
	}
}

func TestBeforeAPanicEndsTheProcessTheTerminalIsGivenBack(t *testing.T) {
	t.Parallel()
	given := false
	w := &World{Options: Options{Crash: func() { given = true }}}
	defer func() {
		if r := recover(); r != "at once" || !given {
			t.Errorf("recovered %v, given back: %v", r, given)
		}
	}()
	defer w.crashing()
	panic("at once")
}
