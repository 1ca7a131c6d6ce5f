package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// newSleeper is a contender with nobody before it and no master to ask.
func newSleeper() *contender {
	hub := wakeup.New(nil, "id", nil)
	c := &Client{hub: hub}
	c.life, c.endLife = context.WithCancelCause(context.Background())
	return &contender{c: c, l: &Lock{}, pilot: pilot.None, place: c.lines.join("key"), waiter: hub.Wait("key")}
}

// A select would choose between the wake-up and the end of such a pause, and what
// it left would end the next one.
func TestAWakeUpIsHeardInAPauseOfNoLength(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			w := newSleeper()
			w.place.wake()
			if woken, cause := w.sleep(t.Context(), 0, nil); !woken || cause != nil {
				t.Fatalf("woken %v, cause %v: want woken and no cause", woken, cause)
			}
			began := time.Now()
			woken, cause := w.sleep(t.Context(), time.Second, nil)
			if slept := time.Since(began); woken || cause != nil || slept != time.Second {
				t.Fatalf("the next pause: woken %v, cause %v, after %v; want one of a second", woken, cause, slept)
			}
		})
	}
}

func TestWhatEndsTheWaitingComesBeforeAPauseOfNoLength(t *testing.T) {
	for range 100 {
		w := newSleeper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, cause := w.sleep(ctx, 0, nil); cause != context.Canceled { //nolint:errorlint // it is the context's own
			t.Fatalf("sleep: %v, want %v", cause, context.Canceled)
		}
		if cause := w.c.pause(ctx, 0); cause != context.Canceled { //nolint:errorlint // as above
			t.Fatalf("pause: %v, want %v", cause, context.Canceled)
		}
		w.c.endLife(ErrClosed)
		if cause := w.c.pause(t.Context(), 0); cause != ErrClosed { //nolint:errorlint // as above
			t.Fatalf("pause of a closed client: %v, want %v", cause, ErrClosed)
		}
	}
}

func TestThePilotIsAskedAgainWhenItsKeyExpires(t *testing.T) {
	for _, held := range []*outcome.Held{nil, {TTL: -1}, {TTL: 0}, {TTL: time.Millisecond}, {TTL: 365 * 24 * time.Hour}} {
		in := freeIn(&wire.Turn{Held: held}, nil, time.Second)
		if in < 0 || in > time.Second || held != nil && held.TTL == time.Millisecond && in > 6*time.Millisecond {
			t.Errorf("%+v: asked again in %v", held, in)
		}
	}
}
