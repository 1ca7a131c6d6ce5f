package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/internal/rig/masters"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
)

func asked(t *testing.T) (*simmaster.Master, *Master) {
	t.Helper()
	c, err := simmaster.StartCluster(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.Masters()[0], fleetOf(t, c).Lines[0]
}

func fleetOf(t *testing.T, c *simmaster.Cluster) *Fleet {
	t.Helper()
	f, err := NewFleet(c.URLs(), &app.SharedFlags{}, &app.AccessFlags{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// bounded is for what should take a moment.
func bounded(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestAMasterIsAsked(t *testing.T) {
	t.Parallel()
	sim, m := asked(t)
	ctx := bounded(t, 20*time.Second)
	if err := m.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	sim.SetClockOffset(time.Hour)
	if r, err := m.Clock(ctx); err != nil || r.Offset().Middle() < 59*time.Minute {
		t.Errorf("%v, %v", r.Offset(), err)
	}
	if a := m.Do(ctx, "PING"); a.Err != nil || a.Reply != "PONG" || a.RoundTrip() <= 0 {
		t.Errorf("%+v", a)
	}
	if a := m.Do(ctx, "NOSUCH"); a.Err == nil {
		t.Errorf("%+v", a)
	}
}

func TestAMasterThatIsFrozenIsAskedInVain(t *testing.T) {
	t.Parallel()
	sim, m := asked(t)
	if err := m.Connect(bounded(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	sim.Freeze()
	if a := m.Do(bounded(t, 20*time.Millisecond), "PING"); !errors.Is(a.Err, pool.ErrTimeout) {
		t.Errorf("%+v", a)
	}
}

func TestAMasterThatIsGoneSaysWhy(t *testing.T) {
	t.Parallel()
	sim, err := simmaster.StartCluster(1)
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	sim.Masters()[0].Kill()
	if err := fleetOf(t, sim).Lines[0].Connect(bounded(t, 20*time.Second)); err == nil || errors.Is(err, pool.ErrTimeout) {
		t.Error(err)
	}
}

// awaits has a fleet that was just opened await its masters. It returns for how long it did.
func awaits(t *testing.T, b *masters.Bubble) (f *Fleet, took time.Duration) {
	t.Helper()
	p, err := pool.New(b.URLs(), pool.WithDialer(b.Dialer()))
	if err != nil {
		t.Fatal(err)
	}
	b.AtEnd(func() { _ = p.Close() })
	f = &Fleet{Lines: mastersOf(p), Pool: p}
	began := time.Now()
	f.Await(t.Context())
	return f, time.Since(began)
}

func TestMastersThatAreBeingConnectedAreAwaited(t *testing.T) {
	masters.InBubble(t, 3, func(t *testing.T, b *masters.Bubble) {
		b.Freeze(2) // accepts, and does not greet
		const slow = 100 * time.Millisecond
		time.AfterFunc(slow, b.All[2].Thaw)
		f, took := awaits(t, b)
		if took < slow || took > slow+connectPoll {
			t.Errorf("waited %v", took)
		}
		for _, line := range f.Lines {
			if s := line.Stats(); !s.Connected {
				t.Errorf("%s was not awaited: %v", line.Name(), s.Err)
			}
		}
	})
}

func TestAMasterThatIsGoneIsNotAwaited(t *testing.T) {
	masters.InBubble(t, 3, func(t *testing.T, b *masters.Bubble) {
		b.Kill(2)
		if _, took := awaits(t, b); took > connectPoll {
			t.Errorf("waited %v", took)
		}
	})
}
