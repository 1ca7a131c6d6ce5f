package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
)

// toOthers makes masters those that somebody else runs, which are reached as before: the World can do nothing to them.
func toOthers(o *Options) (masters []*simmaster.Master) {
	for _, m := range o.Cluster.Masters {
		masters = append(masters, m.(stage.InProcess).Sim)
	}
	o.Cluster.Kind, o.Cluster.Masters = stage.KindGiven, nil
	o.Pool, o.Dial = []pool.Option{pool.WithDialer(o.Dial)}, nil
	return masters
}

// watchOthers has masters watched that fault breaks by itself, every half second.
func watchOthers(t *testing.T, lasts time.Duration, fault func(m []*simmaster.Master, at time.Duration)) (*Result, string, map[string]bool) {
	t.Helper()
	var masters []*simmaster.Master
	states := map[string]bool{}
	r, events := play(t, "1s kill 1", func(o *Options) {
		masters = toOthers(o)
		o.Script, o.Duration = nil, lasts
		o.MaxTTL = o.TTL // as the fleet has declared
	}, func(w *World) {
		s := w.Snapshot()
		for _, m := range s.Masters {
			states[m.State] = true
		}
		if s.Begun {
			fault(masters, s.Elapsed.Round(500*time.Millisecond))
		}
	})
	return r, strings.Join(events, "\n"), states
}

func TestMastersThatOthersBreakAreWatched(t *testing.T) {
	r, events, states := watchOthers(t, 16*time.Second, func(m []*simmaster.Master, at time.Duration) {
		switch at {
		case 2 * time.Second:
			m[0].Kill()
		case 4 * time.Second:
			m[1].Freeze()
		case 7 * time.Second:
			_ = m[0].Restart(false) // in memory it has no error
		case 8 * time.Second:
			m[1].Thaw()
		}
	})
	if r.Verdict != VerdictHeld || r.Check.Broken() || r.Counts.Acquired < 10 || r.Counts.Failed != 0 || r.Masters != "given" || r.Version == "" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{stage.SeenUp, stage.SeenGone, stage.SeenSilent, stage.SeenAbstains} {
		if !states[want] {
			t.Errorf("no master was seen to be %s: %v", want, states)
		}
	}
	left := events
	for _, want := range []string{
		"master 1 ", ": down", "master 2 ", ": does not answer", "master 1 ", ": has lost its data; it votes again at ", ": votes again",
	} {
		_, after, found := strings.Cut(left, want)
		if !found {
			t.Fatalf("not told in this order: %q in\n%s", want, events)
		}
		left = after
	}
}

func TestNothingIsDoneToMastersThatOthersRun(t *testing.T) {
	var failures []string
	var masters []*simmaster.Master
	play(t, "1s kill 1\n2s end", func(o *Options) {
		masters = toOthers(o)
		o.Told = func(e Event) {
			if e.Kind == EventFailure {
				failures = append(failures, e.Text)
			}
		}
	}, func(*World) {
		if !masters[0].Up() {
			t.Error("a master was killed")
		}
	})
	if !slices.Equal(failures, []string{"kill 1: others run these masters"}) {
		t.Errorf("%q", failures)
	}
}
