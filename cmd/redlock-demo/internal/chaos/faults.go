package chaos

import (
	"context"
	"fmt"
	"time"
)

// faultBound is how long doing one thing to one master may take.
const faultBound = 20 * time.Second

// A condition is what has been done to a master.
type condition struct {
	down, starting, frozen, cut bool
	offset                      time.Duration
}

func (c condition) String() string {
	switch {
	case c.starting:
		return "starting"
	case c.down:
		return "killed"
	case c.frozen:
		return "frozen"
	case c.cut:
		return "cut off"
	default:
		return "up"
	}
}

// condition is that of a master.
func (w *World) condition(n int) condition {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conditions[n]
}

func (w *World) change(n int, f func(*condition)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.conditions[n])
}

// do does something to masters of our own, one after the other, and tells of it.
func (w *World) do(ctx context.Context, f Fault) {
	if w.breaker == nil {
		w.tell(EventFailure, "%v: others run these masters", f)
		return
	}
	for _, n := range f.Masters {
		if ctx.Err() != nil {
			return
		}
		if err := w.doTo(ctx, f, n); err != nil {
			w.tell(EventFailure, "%s %d: %v", f.Action, n+1, err)
		}
	}
}

func (w *World) doTo(ctx context.Context, f Fault, n int) error {
	bounded, cancel := context.WithTimeout(ctx, faultBound)
	defer cancel()
	is := w.condition(n)
	var err error
	change := func(*condition) {}
	switch f.Action {
	case Kill:
		err = w.breaker.Kill(n)
		change = func(c *condition) { c.down, c.frozen = true, false }
	case Restart, Empty:
		w.change(n, func(c *condition) { c.starting = true })
		if f.Action == Empty {
			err = w.breaker.Forget(bounded, n)
		} else {
			err = w.breaker.Restart(bounded, n)
		}
		change = func(c *condition) { c.down, c.frozen = false, false }
		defer w.change(n, func(c *condition) { c.starting = false })
	case Freeze, Thaw:
		if is.down {
			return fmt.Errorf("it is not running")
		}
		if f.Action == Freeze {
			err = w.breaker.Freeze(n)
		} else {
			err = w.breaker.Thaw(n)
		}
		change = func(c *condition) { c.frozen = f.Action == Freeze }
	case Cut:
		w.network.links[w.addresses[n]].cut()
		change = func(c *condition) { c.cut = true }
	case Heal:
		w.network.links[w.addresses[n]].heal()
		change = func(c *condition) { c.cut = false }
	case Skew:
		err = w.breaker.SetClock(n, f.Offset)
		change = func(c *condition) { c.offset = f.Offset }
	}
	if err != nil {
		return err
	}
	w.change(n, change)
	w.tell(EventFault, "%s", f.did(n))
	return nil
}
