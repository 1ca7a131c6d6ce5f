package fleets

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Moving takes every lock in two fleets, or Shardeds, at once, while clients are
// moved from the one to the other. It excludes clients that use only from, and
// clients that use only to. There are three phases, each of which may take days:
//
//	all clients use One(from) → all use Moving(from, to) → all use One(to)
//
// Clients of the first and the third phase do not exclude each other. So none may be
// left in the first when the third begins: redlock fleet close makes sure of
// that.
//
// A hold is one in both fleets. Its context ends when it is lost in either, and then
// it is given back in the other. Remaining and ValidUntil are the smaller ones.
// Extend and Verify ask both at once. Unlock leaves them in the opposite order of
// taking. With redlock.WithFencing its token is above every earlier one of either
// fleet, and every later one of either is above it. The new fleet has never heard of
// the tokens of a key that nobody locks while moving. Those rise if clients' clocks
// differ by as little as where masters lose data: see redlock.WithClientSkew.
//
// Where one fleet has no quorum, Moving has none; the *FleetError says which: "from"
// or "to". A lock takes a round trip in each fleet. All clients take the fleets in
// the same order, that of the ids in their markers (with redlock.GuardOff, of their
// addresses). Nobody waits for one fleet while holding the lock in another: where
// the lock is taken in a later one, the call gives back the others and waits for
// that one alone. A key that is in the same fleet on both sides, as most keys are
// while a shard is added, is taken there once.
//
// from and to are of [One], [Sharded] or Moving. A fleet that is to be moved to
// itself is refused: at once where the addresses show it, otherwise by Ready and the
// calls. Close closes both.
func Moving(from, to Locker) (Locker, error) {
	f, err := plannerOf(from)
	if err != nil {
		return nil, badError("Moving: from: %w", err)
	}
	t, err := plannerOf(to)
	if err != nil {
		return nil, badError("Moving: to: %w", err)
	}
	m := &moving{from: f, to: t}
	if f == t {
		return nil, badError("Moving: from and to are the same Locker: want two")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// moving is the Locker of Moving.
type moving struct {
	from, to planner
	jobs     jobs
	settled  atomic.Bool // the ids are known, and not of one fleet
	late     atomic.Bool // they were waited for in vain
}

// check returns an error if a fleet is moved to itself, as far as is known. With two
// Shardeds a fleet may be on both sides.
func (m *moving) check() error {
	f, ok := m.from.(*one)
	t, ok2 := m.to.(*one)
	if !ok || !ok2 {
		return nil
	}
	switch what := f.shares(t); {
	case f.same(t):
		return badError("Moving: from and to are the same fleet (%s), want two: its masters share %s", f.where, what)
	case what != "":
		return badError("Moving: from and to share %s: want other servers, or another database of them", what)
	}
	return nil
}

// settleIDs waits until the fleets' ids are known. It does so once, and for as long as an
// attempt waits for masters that are being dialled. Without ids the order is that of the
// addresses. Other clients may have written these in another way. That is safe, but a
// fleet that is on both sides may be unnoticed until its id is known.
func (m *moving) settleIDs(ctx context.Context) error {
	if m.settled.Load() {
		return nil
	}
	for end := time.Now().Add(idsWithin); !m.join() || !m.idsKnown(); {
		if m.late.Load() || ctx.Err() != nil {
			return m.check()
		}
		if !time.Now().Before(end) {
			m.late.Store(true)
			return m.check()
		}
		select {
		case <-ctx.Done():
		case <-time.After(idsPoll):
		}
	}
	if err := m.check(); err != nil {
		return err
	}
	m.settled.Store(true)
	return nil
}

// join tells the clients of from that every lock is taken in the fleets of to as well. So
// they go on when from is closed for other clients (redlock.Client.CloseFleet) under the id
// of one of these fleets. It reports whether all ids are known.
func (m *moving) join() bool {
	all := true
	from := m.from.fleets("")
	for _, p := range m.to.fleets("") {
		id := p.fleet.fleetID()
		if id == "" {
			all = all && !p.fleet.seam.Guarded()
			continue
		}
		for _, q := range from {
			if !q.fleet.same(p.fleet) {
				q.fleet.seam.JoinMove(id)
			}
		}
	}
	return all
}

const (
	idsWithin = 250 * time.Millisecond
	idsPoll   = 5 * time.Millisecond
)

func (m *moving) idsKnown() bool {
	return !slices.ContainsFunc(m.fleets(""), func(p part) bool { return p.fleet.seam.Guarded() && p.fleet.fleetID() == "" })
}

// plan implements planner: every fleet of either side once, in the order that all clients
// use.
func (m *moving) plan(keys []string, path string) []part {
	return inOrder(m.from.plan(keys, joinPath(path, "from")), m.to.plan(keys, joinPath(path, "to")))
}

// fleets implements planner.
func (m *moving) fleets(path string) []part {
	return inOrder(m.from.fleets(joinPath(path, "from")), m.to.fleets(joinPath(path, "to")))
}

// inOrder returns all parts, each fleet once, sorted by fleet id.
func inOrder(from, to []part) []part {
	parts := addParts(nil, slices.Concat(from, to))
	slices.SortFunc(parts, func(a, b part) int { return a.fleet.compare(b.fleet) })
	return parts
}

// Lock implements Locker.
func (m *moving) Lock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error) {
	return m.lock(ctx, key, false, opts)
}

// TryLock implements Locker.
func (m *moving) TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error) {
	return m.lock(ctx, key, true, opts)
}

func (m *moving) lock(ctx context.Context, key string, once bool, opts []redlock.LockOption) (Hold, error) {
	if err := m.settleIDs(ctx); err != nil {
		return nil, err
	}
	return acquireParts(ctx, key, m.plan([]string{key}, ""), asPlain, once, opts, &m.jobs)
}

// Do implements Locker.
func (m *moving) Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error {
	if fn == nil {
		return badError("do %q: the function is nil", key)
	}
	h, err := m.Lock(ctx, key, opts...)
	if err != nil {
		return err
	}
	return h.(doer).do(ctx, fn)
}

// Ready implements Locker. It waits for the new fleet first: from may be closed for clients
// that do not name the new fleet's id.
func (m *moving) Ready(ctx context.Context) error {
	to := inFleet("to", m.to.Ready(ctx))
	m.join()
	if err := joined([]error{inFleet("from", m.from.Ready(ctx)), to}); err != nil {
		return err
	}
	return m.settleIDs(ctx)
}

// Close implements Locker.
func (m *moving) Close() error {
	to := make(chan error, 1)
	go func() { to <- m.to.Close() }()
	from := m.from.Close()
	err := joined([]error{inFleet("from", from), inFleet("to", <-to)})
	m.jobs.wait()
	return err
}
