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

// A worker is one goroutine that takes locks.
type worker struct {
	w      *world
	c      *client
	number int
	lane   int
	name   string
}

func (w *world) worker(c *client, number int) *worker {
	return &worker{
		w:      w,
		c:      c,
		number: number,
		lane:   workerLane(c.index, number),
		name:   fmt.Sprintf("%s.%d", c.name, number),
	}
}

func (w *world) work(c *client, number int) {
	k := w.worker(c, number)
	for call := range w.p.Calls {
		d := roll(w.seed, chance.HashText("call"), uint64(c.index), uint64(number), uint64(call))
		k.sleep(d.between(0, w.p.Think))
		if w.p.Settings != 0 {
			k.conform(call)
		}
		k.call(d)
	}
}

// sleep pauses for d, and longer while the client is stopped.
func (k *worker) sleep(d time.Duration) {
	k.w.sleep(k.lane, d)
	for k.w.net.isPaused(k.c.index) {
		k.w.sleep(k.lane, time.Millisecond)
	}
}

// key draws one of the contended keys.
func (k *worker) key(d *dice) string { return fmt.Sprintf("k%d", d.upTo(k.w.p.Keys)) }

// keys draws two or more of them; the sets overlap where there are many.
func (k *worker) keys(d *dice) (keys []string) {
	for i := range max(2, k.w.p.Keys) {
		if d.upTo(3) > 0 || i >= k.w.p.Keys-2 && len(keys) < 2 {
			keys = append(keys, fmt.Sprintf("k%d", i))
		}
	}
	return keys
}

func (k *worker) slots() (slots []string) {
	for i := range k.w.p.Slots {
		slots = append(slots, slotName(i))
	}
	return slots
}

func slotName(i int) string { return fmt.Sprintf("slot%d", i) }

// call makes one call and holds what it gets.
func (k *worker) call(d *dice) {
	p, c := k.w.p, k.c.lock()
	kind := pick(d, p.Kinds)
	if kind == Wait && k.number > 0 && p.Keys > 1 {
		kind = Poll // one call of a client waits at a time, or two would wake at one instant
	}
	lease := d.one(p.Leases)
	var opts []redlock.LockOption
	if lease {
		opts = append(opts, redlock.WithLease(k.c.ttl()))
	}
	if p.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	patience := d.between(p.TTL/2, min(4*p.TTL, 4*time.Second))
	if kind == Cancelled || kind == CancelledAny {
		patience = d.between(0, 4*p.Latency)
	}
	if kind == Poll {
		pause := d.between(0, p.Poll)
		opts = append(opts, redlock.WithBackoff(func(int) time.Duration { return pause }))
	}
	if kind == Fair {
		opts = append(opts, redlock.WithFairness())
	}
	ctx, cancel := k.within(patience)
	defer cancel()

	asked := k.w.now()
	ctx, end, m := k.meddle(ctx, d, kind, asked)
	defer end()
	if m != nil {
		opts = append(opts, k.often(d)...)
	}
	var l *redlock.Lock
	var err error
	shared := false
	switch kind {
	case Try:
		patience = p.CommandTimeout
		l, err = c.TryLock(ctx, k.key(d), opts...)
	case TryOthers:
		patience = p.CommandTimeout
		l, err = k.tryOthers(ctx, d, opts)
	case TryRead:
		patience, shared = p.CommandTimeout, true
		l, err = c.RWMutex(k.key(d)).TryRLock(ctx, opts...)
	case Pounce:
		l, asked, err = k.pounce(d, k.key(d), opts)
	case Wait, Poll, Fair, Cancelled, HandOver:
		l, err = c.Lock(ctx, k.key(d), opts...)
	case Do:
		k.inside(ctx, d, kind, c.Do, opts, asked, patience, m)
		return
	case TryDo:
		k.inside(ctx, d, kind, c.TryDo, opts, asked, p.CommandTimeout, m)
		return
	case Lead:
		k.inside(ctx, d, kind, c.Lead, opts, asked, patience, m)
		return
	case All:
		l, err = c.LockAll(ctx, k.keys(d), opts...)
	case TryAny:
		patience = p.CommandTimeout
		l, err = c.TryLockAny(ctx, k.slots(), opts...)
	case Any, CancelledAny:
		l, err = c.LockAny(ctx, k.slots(), opts...)
	case Read:
		shared = true
		l, err = c.RWMutex(k.key(d)).RLock(ctx, opts...)
	case Write:
		l, err = c.RWMutex(k.key(d)).Lock(ctx, opts...)
	}
	if kind != Pounce { // it checks by itself, and has no context
		k.bounded(kind, asked, patience+m.within())
		k.over(ctx, string(kind), err)
	}
	if m.away(l, opts) {
		return
	}
	if err != nil {
		k.w.net.count(func(s *Stats) { s.Failed++ })
		k.w.trace.detail(k.name, fmt.Sprintf("fails to get it by %s", kind), err)
		return
	}
	a := k.c.granted(l, kind, k.number, shared, max(asked, k.c.began(l)))
	if kind == HandOver {
		k.handOver(d, a, opts)
		return
	}
	if m != nil && d.one(4) && kind != All {
		k.extendBeside(d, a, opts)
	}
	k.use(d, a, lease)
}

// pounce waits until shortly before somebody's hold ends, and then tries a few times in a row.
// asked is when the last try began.
func (k *worker) pounce(
	d *dice, key string, opts []redlock.LockOption,
) (l *redlock.Lock, asked time.Duration, err error) {
	if end := k.w.beliefOf(key); end != 0 {
		k.sleep(max(0, end-k.w.now()-d.between(0, max(k.w.p.PounceFrom, k.w.p.TTL/80))))
	}
	for range 12 {
		asked = k.w.now()
		l, err = k.c.lock().TryLock(background, key, opts...)
		k.bounded(Pounce, asked, k.w.p.CommandTimeout)
		if err == nil {
			break
		}
		k.sleep(d.between(100*time.Microsecond, max(800*time.Microsecond, k.w.p.PounceFrom/8)))
	}
	return l, asked, err
}

// beliefOf returns when the last hold of a key ends, or 0 if nobody holds it.
func (w *world) beliefOf(key string) (end time.Duration) {
	for _, c := range w.clients {
		c.mu.Lock()
		for _, a := range c.active {
			if slices.Contains(a.hold.Keys, key) && a.hold.End() > w.now() {
				end = max(end, a.hold.End())
			}
		}
		c.mu.Unlock()
	}
	return end
}

// within returns a context that ends after d, at an instant of the worker's own.
func (k *worker) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(background, k.w.start.Add(k.w.in(deadlineLane(k.c.index, k.number), d)))
}

// bounded checks that a call took no longer than its documentation says.
func (k *worker) bounded(kind Kind, asked, limit time.Duration) {
	if p := k.w.p; p.Blocks != 0 && (kind == Do || kind == TryDo || kind == Lead) { // which log by themselves
		limit += p.BlockedFor
	}
	if took := k.w.now() - asked; took > limit+k.w.slack() {
		k.w.violated(history.Unbounded, fmt.Sprintf("%s: %s took %v, want at most %v", k.name, kind, took, limit))
	}
}

// slack is how much longer a call may take: clocks run at different rates, and over TCP
// processors have other work.
func (w *world) slack() time.Duration {
	if w.tcp {
		return 5 * time.Second
	}
	return 2 * time.Millisecond
}

// inside holds the lock inside of a function, which Lead may run more than once.
func (k *worker) inside(
	ctx context.Context, d *dice, kind Kind,
	do func(ctx context.Context, key string, fn func(context.Context) error, opts ...redlock.LockOption) error,
	opts []redlock.LockOption, asked, patience time.Duration, m *meddler,
) {
	ran, within := false, time.Duration(0)
	err := do(ctx, k.key(d), func(ctx context.Context) error {
		ran = true
		began := k.w.now()
		l, _ := redlock.FromContext(ctx)
		a := k.c.granted(l, kind, k.number, false, max(asked, k.c.began(l)))
		if k.w.p.Updates {
			k.update(d, l)
		} else {
			k.sleep(d.between(0, 2*k.w.p.TTL))
		}
		k.c.ended(a, fmt.Sprintf("returns from %s, with", kind))
		within += k.w.now() - began
		return nil
	}, opts...)
	k.bounded(kind, asked, patience+within+k.w.p.CommandTimeout+m.within())
	if !ran {
		k.over(ctx, string(kind), err)
		k.w.net.count(func(s *Stats) { s.Failed++ })
		k.w.trace.detail(k.name, fmt.Sprintf("fails to get it by %s", kind), err)
	}
	m.away(nil, opts)
}

// handOver ends the hold, and passes its token on.
func (k *worker) handOver(d *dice, a *active, opts []redlock.LockOption) {
	k.sleep(d.between(0, k.w.p.Think))
	if token := k.give(a); token != "" {
		k.passOn(d, a.lock.Key(), token, opts)
	}
}

// give ends the hold without releasing it. It returns the token, or "" if the hold was over.
func (k *worker) give(a *active) string {
	k.c.ended(a, "HANDS OVER")
	asked := k.w.now()
	left := k.c.clock.real(a.lock.Remaining())
	token, err := a.lock.HandOver()
	k.bounded("HandOver", asked, left)
	k.w.trace.detail(k.name, "has handed over", err)
	return token
}

// passOn gives a token to one client or to all, which adopt it at once or in turn.
func (k *worker) passOn(d *dice, key, token string, opts []redlock.LockOption) {
	heirs, atOnce := 1, d.one(2)
	if d.one(2) {
		heirs = len(k.w.clients)
	}
	k.sleep(d.between(0, k.w.p.TTL/2))
	var adopting sync.WaitGroup
	for i := range heirs {
		c := k.w.clients[(k.c.index+1+i)%len(k.w.clients)]
		heir := k.w.worker(c, k.w.p.Workers+k.c.index) // no other worker has this number
		own := roll(d.next(), chance.HashText("heir"))
		adopting.Go(func() { heir.adopt(own, key, token, opts) })
		if !atOnce {
			k.sleep(d.between(0, k.w.p.TTL/8))
		}
	}
	adopting.Wait()
}

// adopt adopts the hold of a token, keeps it for a while and releases it.
func (k *worker) adopt(d *dice, key, token string, opts []redlock.LockOption) {
	k.sleep(d.between(0, k.w.p.Think))
	ctx, cancel := k.within(k.w.p.TTL)
	defer cancel()
	asked := k.w.now()
	l, err := k.c.lock().Adopt(ctx, key, token, opts...)
	k.bounded("Adopt", asked, k.w.p.CommandTimeout)
	if err != nil {
		k.w.trace.detail(k.name, "cannot adopt", err)
		return
	}
	a := k.c.granted(l, HandOver, k.number, false, asked)
	k.w.net.count(func(s *Stats) { s.Adopted++ })
	k.sleep(d.between(0, k.w.p.TTL))
	k.unlock(k.c, a)
}

// use holds the lock for a while, and ends the hold in one of several ways.
func (k *worker) use(d *dice, a *active, lease bool) {
	p := k.w.p
	length := d.between(0, p.TTL/4)
	if d.one(4) {
		length = d.between(0, p.TTL*5/4)
	}
	if p.Brief {
		length = d.between(0, p.Think)
	}
	if p.Long {
		length = d.between(p.TTL, 2*p.TTL)
	}
	if p.Edges {
		around := d.between(-2*time.Millisecond, 2*time.Millisecond)
		switch left := k.c.clock.real(a.lock.Remaining()); d.upTo(4) {
		case 0: // when it is renewed
			length = p.TTL/3 + around
		case 1: // when it runs out
			length = left + around
		case 2:
			length = d.between(0, 2*p.TTL)
		}
	}
	if p.Updates {
		k.update(d, a.lock)
	} else {
		k.sleep(max(0, length))
	}
	k.heard(a.lock)
	if lease && d.one(3) {
		k.extend(a)
		k.sleep(d.between(0, p.TTL))
	}
	if lease && d.one(p.Abandon) {
		k.w.trace.note(k.name, "leaves its lease alone")
		return
	}
	if d.one(16) {
		ctx, cancel := k.within(p.TTL)
		asked, left := k.w.now(), k.c.clock.real(a.lock.Remaining())
		err := a.lock.Verify(ctx)
		cancel()
		k.bounded("Verify", asked, min(left, p.CommandTimeout))
		k.w.trace.detail(k.name, "has verified", err)
	}
	k.unlock(k.c, a)
}

func (k *worker) unlock(c *client, a *active) {
	c.ended(a, "GIVES BACK")
	asked := k.w.now()
	err := a.lock.Unlock(background)
	k.bounded("Unlock", asked, k.w.p.CommandTimeout)
	if err == nil {
		c.mu.Lock()
		a.hold.Released = k.w.now()
		c.mu.Unlock()
	}
	k.w.trace.detail(k.name, "has given back", err)
	if err != nil && !errors.Is(err, redlock.ErrNotHeld) && !errors.Is(err, redlock.ErrNoQuorum) {
		k.w.violated(history.Stuck, "Unlock: "+err.Error())
	}
}
