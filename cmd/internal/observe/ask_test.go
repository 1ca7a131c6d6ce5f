package observe

import (
	"context"
	"errors"
	"testing"
	"time"

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
	m, err := Open(c.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return c.Masters()[0], m
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
	if up, err := m.Connect(ctx); !up || err != nil {
		t.Fatal(up, err)
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
	if up, err := m.Connect(bounded(t, 20*time.Second)); !up || err != nil {
		t.Fatal(up, err)
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
	m, err := Open(sim.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if up, err := m.Connect(bounded(t, 20*time.Second)); up || err == nil {
		t.Error(up, err)
	}
}
