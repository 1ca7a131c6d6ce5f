package fleets

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A compound is a hold in several fleets.
type compound struct {
	key   string
	parts []part
	held  []*redlock.Lock // by part
	order []int           // in which the parts were taken
	fence uint64
	jobs  *jobs
	ctx   *compoundContext

	mu    sync.Mutex    // guards what follows
	ended bool          // unlocked, or being given back
	gone  chan struct{} // made when a loss was noticed, closed when the rest was given back
}

func newCompound(a *acquisition, held []*redlock.Lock, order []int) *compound {
	h := &compound{key: a.key, parts: a.parts, held: held, order: order, jobs: a.jobs}
	for _, l := range held {
		h.fence = max(h.fence, l.Fence())
	}
	h.mu.Lock() // a part may end at once
	defer h.mu.Unlock()
	h.ctx = newCompoundContext(h)
	return h
}

// Key implements Hold.
func (h *compound) Key() string { return h.key }

// Fence implements Hold. It is the same in all fleets.
func (h *compound) Fence() uint64 { return h.fence }

// Remaining implements Hold.
func (h *compound) Remaining() time.Duration {
	least := h.held[0].Remaining()
	for _, l := range h.held[1:] {
		least = min(least, l.Remaining())
	}
	return least
}

// ValidUntil implements Hold.
func (h *compound) ValidUntil() time.Time {
	first := h.held[0].ValidUntil()
	for _, l := range h.held[1:] {
		if t := l.ValidUntil(); t.Before(first) {
			first = t
		}
	}
	return first
}

// Context implements Hold. Its cause of a loss is a *FleetError.
func (h *compound) Context() context.Context { return h.ctx }

// Extend implements Hold.
func (h *compound) Extend(ctx context.Context) error { return h.all(ctx, (*redlock.Lock).Extend) }

// Verify implements Hold.
func (h *compound) Verify(ctx context.Context) error { return h.all(ctx, (*redlock.Lock).Verify) }

// all does something in all fleets at once, and waits for all of them.
func (h *compound) all(ctx context.Context, do func(*redlock.Lock, context.Context) error) error {
	errs := make([]error, len(h.held))
	var wg sync.WaitGroup
	for i, l := range h.held[1:] {
		wg.Go(func() { errs[i+1] = inFleet(h.parts[i+1].path, do(l, ctx)) })
	}
	errs[0] = inFleet(h.parts[0].path, do(h.held[0], ctx))
	wg.Wait()
	_ = h.ctx.Err() // where one was lost the context ends before the caller hears of it
	return joined(errs)
}

// Unlock implements Hold. It releases in the opposite order of taking, one fleet after the
// other.
func (h *compound) Unlock(ctx context.Context) error {
	h.end(redlock.ErrUnlocked)
	errs := make([]error, len(h.held))
	for _, i := range slices.Backward(h.order) {
		errs[i] = inFleet(h.parts[i].path, h.held[i].Unlock(ctx))
	}
	h.awaitGone()
	h.ctx.release()
	return joined(errs)
}

// awaitGone waits until the parts that remained of a lost hold have been released. Each
// release takes at most the command timeout.
func (h *compound) awaitGone() {
	h.mu.Lock()
	gone := h.gone
	h.mu.Unlock()
	if gone != nil {
		<-gone
	}
}

// end ends the hold's context, unless a fleet has lost its part by now.
func (h *compound) end(cause error) {
	_ = h.ctx.Err() // notices a loss, which comes first
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		h.ctx.cancel(cause)
	}
}

// partEnded is called when the hold in one fleet has ended by itself. It releases the
// others, in the opposite order of taking.
func (h *compound) partEnded(i int) {
	cause := context.Cause(h.held[i].Context())
	if !errors.Is(cause, redlock.ErrUnlocked) { // by whoever found it by redlock.FromContext
		cause = inFleet(h.parts[i].path, cause)
	}
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return
	}
	h.ended = true
	h.gone = make(chan struct{})
	h.jobs.begin()
	h.ctx.cancel(cause)
	h.mu.Unlock()
	go func() { // jobs.wait and Unlock wait for it
		defer h.jobs.end()
		defer close(h.gone)
		for _, other := range slices.Backward(h.order) {
			if other != i {
				_ = h.held[other].Unlock(context.Background()) // traces and logs tell
			}
		}
		h.ctx.release()
	}()
}
