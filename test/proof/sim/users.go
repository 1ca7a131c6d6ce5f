package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// A meddler is what code of users does to one call: its traces end the call's context, and Held
// ends the lock.
type meddler struct {
	k      *worker
	kind   Kind
	asked  time.Duration
	at     string // the event at which the context ends; "": none
	cancel context.CancelFunc
	d      *dice
	what   deed // that Held does

	beside sync.WaitGroup // goroutines that Held has started
	mu     sync.Mutex     // guards what follows
	spent  time.Duration  // in the call, in code of users
	gone   bool           // Held has begun to end the lock
	key    string         // the key of a lock that was handed over
	token  string         // its token
	closed *redlock.Client
}

type meddlerKey struct{}

// deed is what Held does with its lock.
type deed int

const (
	nothing deed = iota
	unlocks
	handsOver
	closes
)

// meddle draws what a meddler does to a call.
func (k *worker) meddle(
	ctx context.Context, d *dice, kind Kind, asked time.Duration,
) (context.Context, context.CancelFunc, *meddler) {
	if !k.w.p.Meddles {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &meddler{k: k, kind: kind, asked: asked, cancel: cancel, d: roll(d.next(), chance.HashText("meddler"))}
	if d.one(3) {
		m.at = []string{"begin", "node", "held", "attempt", "retry", "wait", "extend", "unlock"}[d.upTo(8)]
	}
	m.what = pick(d, []weighted[deed]{{nothing, 6}, {unlocks, 2}, {handsOver, 1}, {closes, 1}})
	return context.WithValue(ctx, meddlerKey{}, m), cancel, m
}

// meddling returns the trace that does it, or nil.
func (c *client) meddling() *redlock.Trace {
	if !c.w.p.Meddles {
		return nil
	}
	return &redlock.Trace{
		Begin: func(ctx context.Context, _ redlock.BeginInfo) context.Context {
			happens(ctx, "begin")
			return nil
		},
		Node:    func(i redlock.NodeInfo) { happens(i.Context, "node") },
		Attempt: func(i redlock.AttemptInfo) { happens(i.Context, "attempt") },
		Retry:   func(i redlock.AttemptInfo) { happens(i.Context, "retry") },
		Wait:    func(i redlock.WaitInfo) { happens(i.Context, "wait") },
		Extend:  func(i redlock.ExtendInfo) { happens(i.Context, "extend") },
		Unlock:  func(i redlock.UnlockInfo) { happens(i.Context, "unlock") },
		Held: func(ctx context.Context, l *redlock.Lock) context.Context {
			happens(ctx, "held")
			if m, ok := ctx.Value(meddlerKey{}).(*meddler); ok {
				m.held(l)
			}
			return nil
		},
	}
}

// happens ends the context of a call at the event that was drawn.
func happens(ctx context.Context, event string) {
	if m, ok := ctx.Value(meddlerKey{}).(*meddler); ok && m.at == event {
		m.k.w.trace.note(m.k.name, "ends its context at "+event)
		m.cancel()
	}
}

// held ends the lock that it gets, at once or a little later.
func (m *meddler) held(l *redlock.Lock) {
	k := m.k
	beside, delay, pause := m.d.one(2), m.d.between(0, 2*time.Millisecond), time.Duration(0)
	if m.d.one(4) {
		pause = m.d.between(0, k.w.p.TTL/4)
	}
	runs := m.kind == Do || m.kind == TryDo || m.kind == Lead // these run a function, which notices the end too late
	if m.what == nothing || beside && k.w.tcp && runs {
		return
	}
	began := k.w.now()
	a := k.c.granted(l, m.kind, k.number, m.kind == Read || m.kind == TryRead, max(m.asked, k.c.began(l)))
	m.mu.Lock()
	m.gone = true
	m.mu.Unlock()
	if beside {
		m.beside.Go(func() {
			time.Sleep(delay)
			m.end(a)
		})
	} else {
		m.end(a)
	}
	time.Sleep(pause)
	m.mu.Lock()
	m.spent += k.w.now() - began
	m.mu.Unlock()
}

// end ends the lock in the way that was drawn.
func (m *meddler) end(a *active) {
	k := m.k
	switch m.what {
	case unlocks:
		k.unlock(k.c, a)
	case handsOver:
		if a.hold.Shared {
			k.unlock(k.c, a)
			return
		}
		token := k.give(a)
		m.mu.Lock()
		m.key, m.token = a.lock.Key(), token
		m.mu.Unlock()
	case closes:
		l := k.c.lock()
		m.mu.Lock()
		m.closed = l
		m.mu.Unlock()
		k.c.closeTwice(l)
	}
}

// within returns how much longer a call may take because of code of users. The call itself
// reports what happens to a lock until Held has returned, and listeners may block it. A nil
// meddler adds nothing.
func (m *meddler) within() time.Duration {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return m.spent + m.k.w.p.BlockedFor
	}
	return m.spent
}

// away waits for the goroutines of Held, and reports whether they have ended the lock. Then l,
// the lock that the call has returned, must be over; it may be nil. Other clients adopt a lock
// that was handed over.
func (m *meddler) away(l *redlock.Lock, opts []redlock.LockOption) bool {
	if m == nil {
		return false
	}
	m.beside.Wait()
	m.mu.Lock()
	gone, token, closed := m.gone, m.token, m.closed
	m.mu.Unlock()
	if !gone {
		return false
	}
	k := m.k
	if l != nil {
		if left := l.Remaining(); left != 0 || l.Context().Err() == nil {
			text := fmt.Sprintf("%s: %v of %s remain after Trace.Held has ended it", k.name, left, l.Key())
			k.w.violated(history.Undone, text)
		}
		if err := l.Unlock(background); !errors.Is(err, redlock.ErrNotHeld) {
			text := fmt.Sprintf("%s: unlocked %s again after Trace.Held has ended it: %v", k.name, l.Key(), err)
			k.w.violated(history.Undone, text)
		}
	}
	if token != "" {
		k.passOn(m.d, m.key, token, opts)
	}
	if closed != nil {
		k.c.reopen(closed)
	}
	return true
}

// closeTwice closes a client twice at the same time, and checks how long that takes.
func (c *client) closeTwice(l *redlock.Client) {
	w := c.w
	if w.tcp { // others may get in before the end is noticed
		for _, a := range c.holds() {
			c.ended(a, "closes, and lets go of")
		}
	}
	w.net.count(func(s *Stats) { s.Closes++ })
	w.trace.note(c.name, "is closed twice at once")
	asked := w.now()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _ = l.Close() })
	}
	both.Wait()
	// Close may wait for valid locks of Do, calls under way, answers and listeners.
	limit := w.p.MaxTTL + 7*w.p.CommandTimeout + time.Second
	if took := w.now() - asked; took > limit+w.slack() {
		w.violated(history.Unbounded, fmt.Sprintf("%s: Close took %v, want at most %v", c.name, took, limit))
	}
	if _, err := l.TryLock(background, "k0"); !errors.Is(err, redlock.ErrClosed) {
		w.violated(history.Undone, fmt.Sprintf("%s: TryLock after Close: %v", c.name, err))
	}
}

// reopen opens a client in place of one that was closed, unless another goroutine has done so.
func (c *client) reopen(closed *redlock.Client) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.lock() != closed {
		return
	}
	if err := c.open(c.set); err != nil {
		c.w.violated(history.Stuck, c.name+" cannot be opened: "+err.Error())
	}
}

// closeClient closes a client during its calls, and reopens it.
func (w *world) closeClient(d *dice) {
	c := w.clients[d.upTo(len(w.clients))]
	l := c.lock()
	c.closeTwice(l)
	w.sleep(faultLane+closeFault, d.between(0, w.p.TTL/20))
	c.reopen(l)
}

// over checks that a failed call says so in its error if its context is over. Over TCP a
// deadline may also pass after the call has returned.
func (k *worker) over(ctx context.Context, what string, err error) {
	cause := ctx.Err()
	if m, ok := ctx.Value(meddlerKey{}).(*meddler); ok && m.at == "wait" && m.kind != Lead {
		return // Trace.Wait is called after the call's error is decided
	}
	if err == nil || cause == nil || errors.Is(err, cause) || k.w.tcp && errors.Is(cause, context.DeadlineExceeded) {
		return
	}
	text := fmt.Sprintf("%s: the context of %s is over, and its error does not say so: %v", k.name, what, err)
	k.w.violated(history.Unheard, text)
}

// often draws options: how often a call tries, for how long it waits, and fairness.
func (k *worker) often(d *dice) (opts []redlock.LockOption) {
	if d.one(4) {
		opts = append(opts, redlock.WithTries(1+d.upTo(2)))
	}
	if d.one(4) {
		opts = append(opts, redlock.WithWait(d.between(time.Millisecond, k.w.p.TTL).Round(time.Millisecond)))
	}
	if d.one(3) {
		opts = append(opts, redlock.WithFairness())
	}
	return opts
}

// tryOthers makes a call that does not wait, other than TryLock.
func (k *worker) tryOthers(ctx context.Context, d *dice, opts []redlock.LockOption) (*redlock.Lock, error) {
	c := k.c.lock()
	switch d.upTo(4) {
	case 0:
		return c.RWMutex(k.key(d)).TryLock(ctx, opts...)
	case 1:
		return c.TryLockAll(ctx, k.keys(d), opts...)
	case 2:
		return c.TryLockAny(ctx, k.slots(), opts...)
	default:
		return c.Semaphore("permits", k.w.p.Slots).TryAcquire(ctx, opts...)
	}
}

// extendBeside extends a hold while a reentrant call wants a longer TTL.
func (k *worker) extendBeside(d *dice, a *active, opts []redlock.LockOption) {
	p := k.w.p
	longer := redlock.WithTTL(p.TTL + d.between(time.Millisecond, p.MaxTTL-p.TTL).Truncate(time.Millisecond))
	var both sync.WaitGroup
	both.Go(func() {
		for range 3 {
			k.extend(a)
		}
	})
	both.Go(func() {
		if d.one(2) { // or else both begin at once
			time.Sleep(d.between(0, p.CommandTimeout))
		}
		asked := k.w.now()
		// The options of the call begin with those of the hold.
		again := slices.Concat(opts, []redlock.LockOption{redlock.WithReentrancy(), longer})
		l, err := k.c.lock().Lock(a.lock.Context(), a.lock.Key(), again...)
		switch {
		case err != nil:
			k.w.trace.detail(k.name, "fails to get a further handle", err)
		case l.Token() == a.lock.Token():
			err := l.Unlock(background)
			if err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
				k.w.violated(history.Stuck, "Unlock of a further handle: "+err.Error())
			}
		default: // the hold was lost, so this is another
			k.unlock(k.c, k.c.granted(l, Wait, k.number, false, asked))
		}
	})
	both.Wait()
}

// extend extends a hold, and checks how long that takes.
func (k *worker) extend(a *active) {
	ctx, cancel := k.within(k.w.p.TTL)
	defer cancel()
	ctx, end, _ := k.meddle(ctx, roll(k.w.seed, uint64(k.w.now())), Wait, 0)
	defer end()
	asked := k.w.now()
	left := k.c.clock.real(a.lock.Remaining())
	err := a.lock.Extend(ctx)
	k.bounded("Extend", asked, min(left, k.w.p.CommandTimeout))
	k.w.trace.detail(k.name, fmt.Sprintf("has extended until %v", k.c.refresh(a)), err)
}
