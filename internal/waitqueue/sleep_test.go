package waitqueue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

var errOver = errors.New("the client has ended")

// newSleeper returns a waiter that is first and has no master to ask, and the function that ends
// its client.
func newSleeper() (*waiter, context.CancelCauseFunc) {
	life, end := context.WithCancelCause(context.Background())
	r := newRoom(Config{Closing: life})
	w := newWaiter(r, Options{Keys: []string{"key"}, Kind: wire.Plain}, nil, "key", false)
	w.ticket, w.listener = r.localQueues.join("key"), r.hub.Wait()
	return w, end
}

// A select would choose at random between the wake-up and the end of such a pause. If it left
// the wake-up, that would end the next pause.
func TestWakeUpCountsInAPauseOfNoLength(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			w, _ := newSleeper()
			w.ticket.wake()
			if woken, cause := w.sleep(t.Context(), 0, nil); woken != byRelease || cause != nil {
				t.Fatalf("woken %v, cause %v: want woken by a release, and no cause", woken, cause)
			}
			began := time.Now()
			woken, cause := w.sleep(t.Context(), time.Second, nil)
			if slept := time.Since(began); woken != byTimer || cause != nil || slept != time.Second {
				t.Fatalf("the next pause: woken %v, cause %v, after %v; want one of a second", woken, cause, slept)
			}
		})
	}
}

func TestCancelEndsAPauseOfNoLength(t *testing.T) {
	for range 100 {
		w, end := newSleeper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, cause := w.sleep(ctx, 0, nil); cause != context.Canceled { //nolint:errorlint // it is the context's own
			t.Fatalf("sleep: %v, want %v", cause, context.Canceled)
		}
		if cause := w.room.pause(ctx, 0, nil); cause != context.Canceled { //nolint:errorlint // as above
			t.Fatalf("pause: %v, want %v", cause, context.Canceled)
		}
		end(errOver)
		if cause := w.room.pause(t.Context(), 0, nil); cause != errOver { //nolint:errorlint // as above
			t.Fatalf("pause of a closed client: %v, want %v", cause, errOver)
		}
	}
}

func TestThePilotIsAskedAgainWhenItsKeyExpires(t *testing.T) {
	for _, held := range []*quorum.Held{nil, {TTL: -1}, {TTL: 0}, {TTL: time.Millisecond}, {TTL: 365 * 24 * time.Hour}} {
		in := freeIn(&wire.Turn{Held: held}, nil, time.Second)
		if in < 0 || in > time.Second || held != nil && held.TTL == time.Millisecond && (in < 2*time.Millisecond || in > 7*time.Millisecond) {
			t.Errorf("%+v: asked again in %v", held, in)
		}
	}
}

// Pauses grow only while readers or the same client of this library have the lock: they will call.
func TestPausesBetweenLooksGrowWhileTheSameHolderWillCall(t *testing.T) {
	const a, b = "host:a:0123456789abcdef0123456789abcdef", "host:b:0123456789abcdef0123456789abcdef"
	const readers = "readers" // means several readers
	const ms = time.Millisecond
	for _, test := range []struct {
		name        string
		tokens      []string // that the looks find; "": none
		least, most time.Duration
	}{
		{"the first look", []string{a}, 50 * ms, 250 * ms},
		{"the second", []string{a, a}, 100 * ms, 500 * ms},
		{"the third", []string{a, a, a}, 200 * ms, 500 * ms},
		{"the fifth", []string{a, a, a, a, a}, 500 * ms, 500 * ms},
		{"the hundredth", slices.Repeat([]string{a}, 100), 500 * ms, 500 * ms},
		{"another holder", []string{a, a, a, a, a, b}, 50 * ms, 250 * ms},
		{"nobody", []string{a, a, a, a, a, ""}, 50 * ms, 250 * ms},
		{"nobody for long", slices.Repeat([]string{""}, 10), 50 * ms, 250 * ms},
		{"readers for long", slices.Repeat([]string{readers}, 10), 500 * ms, 500 * ms},
		{"a reader after a writer", []string{a, a, a, a, a, readers}, 50 * ms, 250 * ms},
		{"a client of another library", slices.Repeat([]string{"a random value"}, 10), 50 * ms, 250 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := begun(t, oneWanted)
			defer f.cancel()
			for _, token := range test.tokens {
				if f.turn.Held = heldBy(token); token == readers {
					f.turn.Held = &quorum.Held{Type: "zset", Readers: 2}
				}
				f.one().ask(f.ctx)
			}
			for range 20 {
				if d := f.one().pause(); d < test.least || d > test.most {
					t.Errorf("%s: a pause of %v, want %v to %v", test.name, d, test.least, test.most)
				}
			}
			f.one().pilot = 1 - f.pilot() // another pilot knows nothing of it
			f.w.queue.seek()
			if f.one().ask(f.ctx); f.w.counts.same != 0 {
				t.Errorf("%s: the first look at another pilot is number %d of its kind", test.name, f.w.counts.same)
			}
		})
	}
}
