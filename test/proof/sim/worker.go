package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/hash"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
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

func (w *world) work(c *client, number int) {
	k := &worker{w: w, c: c, number: number, lane: workerLane(c.index, number), name: fmt.Sprintf("%s.%d", c.name, number)}
	for call := 0; w.goesOn(call); call++ {
		d := roll(w.seed, hash.Text("call"), uint64(c.index), uint64(number), uint64(call))
		if w.move != nil && w.move.change(k, d) {
			continue
		}
		k.sleep(d.between(0, w.p.Think))
		k.call(d)
	}
}

// goesOn reports whether there is another call of a worker: as long as clients are
// moved, where they are.
func (w *world) goesOn(call int) bool {
	if w.move != nil {
		return !w.move.isOver()
	}
	return call < w.p.Calls
}

// sleep pauses, and for as long as the client is stopped.
func (k *worker) sleep(d time.Duration) {
	k.w.sleep(k.lane, d)
	for k.w.net.isPaused(k.c.index) {
		k.w.sleep(k.lane, time.Millisecond)
	}
}

// key is one of those that are contended for.
func (k *worker) key(d *dice) string { return fmt.Sprintf("k%d", d.upTo(k.w.p.Keys)) }

// keys are two or more of them, overlapping sets where there are many.
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
	p, c := k.w.p, k.c.lock
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
	if kind == Cancelled {
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
	var l fleets.Hold
	var err error
	shared := false
	switch kind {
	case Try:
		patience = 0
		l, err = k.c.locker.TryLock(ctx, k.key(d), opts...)
	case Pounce:
		patience = 0
		l, asked, err = k.pounce(d, k.key(d), opts)
	case Wait, Poll, Fair, Cancelled, HandOver:
		l, err = k.c.locker.Lock(ctx, k.key(d), opts...)
	case Do:
		k.do(ctx, d, k.key(d), opts, asked)
		return
	case All:
		l, err = asHold(c.LockAll(ctx, k.keys(d), opts...))
	case Any:
		l, err = asHold(c.LockAny(ctx, k.slots(), opts...))
	case Read:
		shared = true
		l, err = asHold(c.RWMutex(k.key(d)).RLock(ctx, opts...))
	case Write, Downgrade:
		l, err = asHold(c.RWMutex(k.key(d)).Lock(ctx, opts...))
	}
	k.bounded(kind, asked, patience)
	if err != nil {
		k.w.net.count(func(s *Stats) { s.Failed++ })
		k.w.trace.detail(k.name, fmt.Sprintf("fails to get it by %s", kind), err)
		if k.w.move.noteRefusal(err) {
			k.sleep(d.between(0, p.TTL/4)) // it is told so at once, again and again
		}
		return
	}
	a := k.c.granted(l, kind, k.number, shared, max(asked, k.c.began(l)))
	defer k.c.endsWith(l.Context(), a)()
	switch {
	case kind == Downgrade:
		a = k.downgrade(d, a)
	case kind == HandOver:
		k.handOver(d, a, opts)
		return
	}
	k.use(d, a, lease)
}

// pounce waits until shortly before somebody's hold runs out, and then tries a
// few times in a row. It returns when the last of them began.
func (k *worker) pounce(d *dice, key string, opts []redlock.LockOption) (l fleets.Hold, asked time.Duration, err error) {
	if end := k.w.beliefOf(key); end != 0 {
		k.sleep(max(0, end-k.w.now()-d.between(0, max(k.w.p.PounceFrom, k.w.p.TTL/80))))
	}
	for range 12 {
		asked = k.w.now()
		if l, err = k.c.locker.TryLock(background, key, opts...); err == nil {
			break
		}
		k.sleep(d.between(100*time.Microsecond, max(800*time.Microsecond, k.w.p.PounceFrom/8)))
	}
	return l, asked, err
}

// beliefOf is when the last of those who hold a key will not any more; 0:
// nobody holds it.
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

// within is a context that ends after d, at an instant of the worker's own.
func (k *worker) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(background, k.w.start.Add(k.w.in(deadlineLane(k.c.index, k.number), d)))
}

// bounded looks whether a call took longer than it may: what its context
// allows, and then no more than answers are waited for, some times over.
func (k *worker) bounded(kind Kind, asked, patience time.Duration) {
	limit := patience + 4*k.w.p.CommandTimeout + 10*time.Millisecond
	if k.w.move != nil { // in both fleets, tokens raised, and both given back
		limit += 6*k.w.p.CommandTimeout + idsWithin
	}
	if took := k.w.now() - asked; took > limit {
		k.w.violated(history.Unbounded, fmt.Sprintf("%s: %s took %v, want at most %v", k.name, kind, took, limit))
	}
}

// do holds the lock inside of a function.
func (k *worker) do(ctx context.Context, d *dice, key string, opts []redlock.LockOption, asked time.Duration) {
	ran := false
	err := k.c.locker.Do(ctx, key, func(ctx context.Context) error {
		ran = true
		l, _ := redlock.FromContext(ctx)
		a := k.c.granted(l, Do, k.number, false, asked)
		defer k.c.endsWith(ctx, a)()
		if k.w.p.Updates {
			k.update(k.c.underDo(ctx, l), d, l)
		} else {
			k.sleep(d.between(0, 2*k.w.p.TTL))
		}
		k.c.ended(a, "returns from Do, with")
		return nil
	}, opts...)
	if !ran {
		k.w.net.count(func(s *Stats) { s.Failed++ })
		k.w.move.noteRefusal(err)
		k.w.trace.detail(k.name, "fails to get it by Do", err)
	}
}

// asHold makes a hold of what a client returns: a nil *redlock.Lock would be one that is
// not nil.
func asHold(l *redlock.Lock, err error) (fleets.Hold, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// downgrade makes a reader of the writer.
func (k *worker) downgrade(d *dice, a *active) *active {
	k.sleep(d.between(0, k.w.p.Think))
	asked := a.hold.Asked // its fencing token is from then
	// From here on others may read. What the handle believes is a reader's.
	k.c.ended(a, "DOWNGRADES")
	ctx, cancel := k.within(k.w.p.TTL)
	defer cancel()
	err := a.one().Downgrade(ctx)
	k.w.trace.detail(k.name, "has downgraded", err)
	if a.lock.Remaining() <= 0 {
		return a // lost before or meanwhile
	}
	return k.c.granted(a.lock, Downgrade, k.number, true, asked)
}

// handOver ends the hold, and gives its token to one client or to all of them, who adopt
// it at once or in turn.
func (k *worker) handOver(d *dice, a *active, opts []redlock.LockOption) {
	k.sleep(d.between(0, k.w.p.Think))
	k.c.ended(a, "HANDS OVER")
	token, err := a.one().HandOver()
	if err != nil {
		return
	}
	heirs, atOnce := 1, d.one(2)
	if d.one(2) {
		heirs = len(k.w.clients)
	}
	k.sleep(d.between(0, k.w.p.TTL/2))
	var adopting sync.WaitGroup
	for i := range heirs {
		c := k.w.clients[(k.c.index+1+i)%len(k.w.clients)]
		number := k.w.p.Workers + k.c.index // nobody else's
		heir := &worker{w: k.w, c: c, number: number, lane: workerLane(c.index, number), name: fmt.Sprintf("%s.%d", c.name, number)}
		own := roll(d.next(), hash.Text("heir"))
		adopting.Go(func() { heir.adopt(own, a.lock.Key(), token, opts) })
		if !atOnce {
			k.sleep(d.between(0, k.w.p.TTL/8))
		}
	}
	adopting.Wait()
}

// adopt takes over what a token stands for, holds it for a while and gives it back.
func (k *worker) adopt(d *dice, key, token string, opts []redlock.LockOption) {
	k.sleep(d.between(0, k.w.p.Think))
	ctx, cancel := k.within(k.w.p.TTL)
	defer cancel()
	asked := k.w.now()
	l, err := k.c.lock.Adopt(ctx, key, token, opts...)
	if err != nil {
		k.w.trace.detail(k.name, "cannot adopt", err)
		return
	}
	a := k.c.granted(l, HandOver, k.number, false, asked)
	k.w.net.count(func(s *Stats) { s.Adopted++ })
	k.sleep(d.between(0, k.w.p.TTL))
	k.unlock(k.c, a)
}

// use holds the lock for a while, and gives it back in one of several ways.
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
		k.update(a.lock.Context(), d, a.lock)
	} else {
		k.sleep(max(0, length))
	}
	if lease && d.one(3) {
		ctx, cancel := k.within(p.TTL)
		err := a.lock.Extend(ctx)
		cancel()
		k.w.trace.detail(k.name, fmt.Sprintf("has extended until %v", k.c.refresh(a)), err)
		k.sleep(d.between(0, p.TTL))
	}
	if lease && d.one(p.Abandon) {
		k.w.trace.note(k.name, "leaves its lease alone")
		return
	}
	if d.one(16) {
		ctx, cancel := k.within(p.TTL)
		err := a.lock.Verify(ctx)
		cancel()
		k.w.trace.detail(k.name, "has verified", err)
	}
	k.unlock(k.c, a)
}

// unlock gives the hold back.
func (k *worker) unlock(c *client, a *active) {
	c.ended(a, "GIVES BACK")
	asked := k.w.now()
	err := a.lock.Unlock(background)
	k.bounded("Unlock", asked, 0)
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
