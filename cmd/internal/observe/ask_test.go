package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/pool"
)

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
		f, took := awaits(t, b)
		if err := f.Lines[2].Connect(t.Context()); took > connectPoll || err == nil {
			t.Errorf("waited %v, %v", took, err)
		}
	})
}

func TestAMasterThatIsFrozenIsAskedInVain(t *testing.T) {
	masters.InBubble(t, 2, func(t *testing.T, b *masters.Bubble) {
		b.Freeze(1) // accepts, and does not greet
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
