package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/pool"
)

// poolOf returns a pool of the masters.
func poolOf(t *testing.T, b *masters.Bubble) *pool.Pool {
	t.Helper()
	p, err := pool.New(b.URLs(), pool.WithDialer(b.Dialer()))
	if err != nil {
		t.Fatal(err)
	}
	b.AtEnd(func() { _ = p.Close() })
	return p
}

// awaits opens a fleet and waits for its masters. It returns how long that took.
func awaits(t *testing.T, b *masters.Bubble) (f *Fleet, took time.Duration) {
	t.Helper()
	p := poolOf(t, b)
	f = &Fleet{Lines: mastersOf(p), Pool: p}
	began := time.Now()
	f.Await(t.Context())
	return f, time.Since(began)
}

func TestAMasterThatIsGoneIsNotAwaited(t *testing.T) {
	masters.InBubble(t, 3, func(t *testing.T, b *masters.Bubble) {
		b.Kill(2)
		f, took := awaits(t, b)
		if err := f.Lines[2].Connect(t.Context()); took > connectPoll || err == nil {
			t.Errorf("waited %v, %v", took, err)
		}
	})
}

func TestCommandsToAFrozenMasterTimeOut(t *testing.T) {
	masters.InBubble(t, 2, func(t *testing.T, b *masters.Bubble) {
		b.Freeze(1) // accepts connections, and does not answer
		f, _ := awaits(t, b)
		b.Freeze(0)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if a := f.Lines[0].Do(ctx, "PING"); !errors.Is(a.Err, pool.ErrTimeout) {
			t.Errorf("%+v", a)
		}
		if err := f.Lines[1].Connect(ctx); !errors.Is(err, pool.ErrTimeout) {
			t.Error(err)
		}
	})
}

// In an outage the markers of a minority help: a client with other settings would wait in vain.
func TestSettingsComeFromTheMastersThatAreUp(t *testing.T) {
	masters.InBubble(t, 5, func(t *testing.T, b *masters.Bubble) {
		b.Ask(4, "HSET", guard.Key, "v", guard.Version, "maxttl", "5000", "n", "5", "level", "standard")
		b.Kill(0, 1, 2)
		b.Freeze(4) // so that it answers last
		const slow = 100 * time.Millisecond
		time.AfterFunc(slow, b.All[4].Thaw)
		fleet, found, sure := SettingsOf(t.Context(), poolOf(t, b))
		if fleet.MaxTTL != 5*time.Second || fleet.Level != guard.Standard || !found || sure {
			t.Errorf("%+v, %t, %t", fleet, found, sure)
		}
		// It may be the only one, and far away: a client with the defaults would change the fleet.
		b.Kill(3)
		b.Freeze(4)
		time.AfterFunc(settingsBound/2, b.All[4].Thaw)
		if fleet, found, _ = SettingsOf(t.Context(), poolOf(t, b)); fleet.MaxTTL != 5*time.Second || !found {
			t.Errorf("%+v, %t", fleet, found)
		}
	})
}
