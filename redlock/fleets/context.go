package fleets

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A compoundContext ends when the hold ends in any of its fleets. It carries the values of
// all their contexts, so that locking the key again under it is detected. Like a lock's
// context, Err computes whether the hold has ended and waits for no timer (S7).
type compoundContext struct {
	context.Context // ends with a cause
	cancel          context.CancelCauseFunc
	hold            *compound
	stops           []func() bool
}

func newCompoundContext(h *compound) *compoundContext {
	values := context.Background()
	for _, i := range h.order {
		values = carry(values, h, i)
	}
	c := &compoundContext{hold: h}
	c.Context, c.cancel = context.WithCancelCause(values)
	for i, l := range h.held {
		c.stops = append(c.stops, context.AfterFunc(l.Context(), func() { h.partEnded(i) }))
	}
	return c
}

// carry returns ctx with a part's hold among its values. It does not end with that hold.
func carry(ctx context.Context, h *compound, i int) context.Context {
	child, cancel := h.held[i].WithContext(ctx)
	cancel()
	return context.WithoutCancel(child)
}

// release frees what follows the parts' contexts.
func (c *compoundContext) release() {
	for _, stop := range c.stops {
		stop()
	}
}

// Err implements context.Context.
func (c *compoundContext) Err() error {
	for i, l := range c.hold.held {
		if l.Context().Err() != nil {
			c.hold.partEnded(i)
		}
	}
	return c.Context.Err()
}

// A doContext is the context of a function: a child of the caller's context that also ends
// with the hold.
type doContext struct {
	context.Context // of the values alone, with an end of its own
	cancel          context.CancelCauseFunc
	caller          context.Context
	hold            *compound
	once            sync.Once
	byCaller        atomic.Bool // it was the caller's context that ended first
}

// bind makes the context of a function. values is a child of the caller's context that
// carries the holds. The second result frees the new context.
func (h *compound) bind(caller, values context.Context) (context.Context, func()) {
	c := &doContext{caller: caller, hold: h}
	c.Context, c.cancel = context.WithCancelCause(context.WithoutCancel(values))
	stopCaller := context.AfterFunc(caller, c.endByCaller)
	stopHold := context.AfterFunc(h.ctx, c.endByHold)
	return c, func() {
		stopCaller()
		stopHold()
		c.cancel(context.Canceled)
	}
}

func (c *doContext) endByCaller() {
	c.once.Do(func() {
		c.byCaller.Store(true)
		c.cancel(context.Cause(c.caller))
	})
}

func (c *doContext) endByHold() {
	c.once.Do(func() { c.cancel(context.Cause(c.hold.ctx)) })
}

// Deadline implements context.Context.
func (c *doContext) Deadline() (time.Time, bool) { return c.caller.Deadline() }

// Err implements context.Context.
func (c *doContext) Err() error {
	switch {
	case c.hold.ctx.Err() != nil:
		c.endByHold()
	case c.caller.Err() != nil:
		c.endByCaller()
	}
	err := c.Context.Err()
	if err != nil && c.byCaller.Load() {
		return c.caller.Err() // which may be that its deadline has passed
	}
	return err
}
