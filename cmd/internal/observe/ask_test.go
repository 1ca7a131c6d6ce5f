package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
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

func TestMastersThatAreBeingConnectedAreAwaited(t *testing.T) {
	t.Parallel()
	c := rig.Cluster(t, 3)
	slow := c.Masters()[2]
	slow.Freeze() // accepts, and does not greet
	f := fleetOf(t, c)
	time.AfterFunc(100*time.Millisecond, slow.Thaw)
	f.Await(t.Context())
	for _, line := range f.Lines {
		if s := line.Stats(); !s.Connected {
			t.Errorf("%s was not awaited: %v", line.Name(), s.Err)
		}
	}
}

func TestAMasterThatIsGoneIsNotAwaited(t *testing.T) {
	t.Parallel()
	c := rig.Cluster(t, 3)
	c.Masters()[2].Kill()
	f := fleetOf(t, c)
	began := time.Now()
	f.Await(t.Context())
	if took := time.Since(began); took >= app.ConnectBound {
		t.Errorf("waited %v", took)
	}
}
