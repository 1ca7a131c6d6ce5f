package fleets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redquorum/internal/hash"
	"github.com/redquorum/redquorum/redlock"
)

// Shards are several fleets, each with its share of the keys. [Sharded] makes one. It is a
// Locker, and safe for concurrent use.
type Shards struct {
	shards []shard // in the order of their names
	jobs   jobs
	// settled: all fleets are known, and are several ones.
	settled atomic.Bool
}

// A shard is one of them.
type shard struct {
	name   string
	weight uint64 // hash of the name
	locker planner
	client *redlock.Client // of a fleet that is used as it is; nil: the shard is made of several
}

// Sharded spreads keys over fleets: each key belongs to one shard, by rendezvous
// hashing of the key over the shards' names. So all clients that give the same names
// agree, whatever else differs. When a shard is added, only the keys that it gets
// change their place, one in n of n shards. Locks that are held while keys change
// their place are safe only if the change is made by [Moving]. All clients of a key
// must give the same names.
//
// The shards are of [One], [Moving], or Sharded: at least one, none twice, each with
// a name. Two that share a fleet, or a server and database, are refused: at once
// where their addresses show it, otherwise by Ready and by the first calls, when the
// masters have told who they are. With redlock.GuardOff there are no fleets' ids;
// then only servers and databases are compared.
//
// A lock costs what it costs in its shard, and no allocation more.
func Sharded(shards map[string]Locker) (*Shards, error) {
	if len(shards) == 0 {
		return nil, badError("Sharded: no shard: want at least one")
	}
	s := &Shards{shards: make([]shard, 0, len(shards))}
	for name, locker := range shards {
		if name == "" {
			return nil, badError("Sharded: a shard's name is empty: keys are spread by the names, so each needs one that stays the same")
		}
		p, err := plannerOf(locker)
		if err != nil {
			return nil, badError("Sharded: shard %q: %w", name, err)
		}
		sh := shard{name: name, weight: hash.Text(name), locker: p}
		if o, ok := p.(*one); ok {
			sh.client = o.client
		}
		s.shards = append(s.shards, sh)
	}
	slices.SortFunc(s.shards, func(a, b shard) int { return strings.Compare(a.name, b.name) })
	if err := s.checkApart(); err != nil {
		return nil, badError("Sharded: %w", err)
	}
	for i := range s.shards {
		if o, ok := s.shards[i].locker.(*one); ok {
			o.seam.SetName(s.shards[i].name)
		}
	}
	return s, nil
}

var errForeign = errors.New("want a Locker that One, Sharded or Moving has made")

// plannerOf is a Locker of this package.
func plannerOf(l Locker) (planner, error) {
	switch l := l.(type) {
	case nil:
		return nil, errors.New("the Locker is nil")
	case *one:
		if l.client == nil {
			return nil, errors.New("One: the client is nil")
		}
		return l, nil
	case *Shards:
		if l == nil || len(l.shards) == 0 {
			return nil, errors.New("the Shards was not made by Sharded")
		}
		return l, nil
	case planner:
		return l, nil
	default:
		return nil, fmt.Errorf("%T: %w", l, errForeign)
	}
}

// Shard is the name of the shard that a key belongs to.
func (s *Shards) Shard(key string) (name string) { return s.of(key).name }

// of is the shard of a key: the one with the highest weight. Of equal ones it is the
// first by name.
func (s *Shards) of(key string) *shard {
	h := hash.Text(key)
	best, most := &s.shards[0], hash.Mix(h^s.shards[0].weight)
	for i := range s.shards[1:] {
		if sh := &s.shards[i+1]; hash.Mix(h^sh.weight) > most {
			best, most = sh, hash.Mix(h^sh.weight)
		}
	}
	return best
}

// Lock implements Locker.
func (s *Shards) Lock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error) {
	return s.lock(ctx, key, false, opts)
}

// TryLock implements Locker.
func (s *Shards) TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error) {
	return s.lock(ctx, key, true, opts)
}

func (s *Shards) lock(ctx context.Context, key string, once bool, opts []redlock.LockOption) (Hold, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.of(key).lock(ctx, key, once, opts)
}

// lock acquires a key of the shard.
func (sh *shard) lock(ctx context.Context, key string, once bool, opts []redlock.LockOption) (Hold, error) {
	var h Hold
	var err error
	switch {
	case sh.client != nil && once:
		return sh.hold(sh.client.TryLock(ctx, key, opts...))
	case sh.client != nil:
		return sh.hold(sh.client.Lock(ctx, key, opts...))
	case once:
		h, err = sh.locker.TryLock(ctx, key, opts...)
	default:
		h, err = sh.locker.Lock(ctx, key, opts...)
	}
	return h, inFleet(sh.name, err)
}

// hold is what a client has returned, as the hold of a shard.
func (sh *shard) hold(l *redlock.Lock, err error) (Hold, error) {
	if err != nil {
		return nil, inFleet(sh.name, err)
	}
	return shardHold{l}, nil
}

// Do implements Locker.
func (s *Shards) Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error {
	if err := s.check(); err != nil {
		return err
	}
	sh := s.of(key)
	return doIn(ctx, sh.name, sh.locker, key, fn, opts)
}

// Ready implements Locker. It asks all shards at once; the error says of which fleets a
// quorum may not vote, or that two shards are one.
func (s *Shards) Ready(ctx context.Context) error {
	if err := s.each(func(sh *shard) error { return sh.locker.Ready(ctx) }); err != nil {
		return err
	}
	return s.check()
}

// Close implements Locker. All shards are closed at once.
func (s *Shards) Close() error {
	_ = s.each(func(sh *shard) error { return sh.locker.Close() })
	s.jobs.wait()
	return nil
}

// each does something in all shards at once, and waits for all.
func (s *Shards) each(do func(sh *shard) error) error {
	errs := make([]error, len(s.shards))
	var wg sync.WaitGroup
	for i := range s.shards {
		wg.Go(func() { errs[i] = inFleet(s.shards[i].name, do(&s.shards[i])) })
	}
	wg.Wait()
	return joined(errs)
}

// plan implements planner: shard by shard, in the order of the names.
func (s *Shards) plan(keys []string, path string) []part {
	if len(keys) == 1 {
		sh := s.of(keys[0])
		return sh.locker.plan(keys, joinPath(path, sh.name))
	}
	mine := make(map[*shard][]string)
	for _, key := range keys {
		sh := s.of(key)
		mine[sh] = append(mine[sh], key)
	}
	var parts []part
	for i := range s.shards {
		sh := &s.shards[i]
		if keys := mine[sh]; keys != nil {
			parts = addParts(parts, sh.locker.plan(keys, joinPath(path, sh.name)))
		}
	}
	return parts
}

// fleets implements planner.
func (s *Shards) fleets(path string) []part {
	var all []part
	for i := range s.shards {
		all = addParts(all, s.shards[i].locker.fleets(joinPath(path, s.shards[i].name)))
	}
	return all
}

// check refuses shards that have turned out to be one fleet. It looks until all masters
// have said who they are.
func (s *Shards) check() error {
	if s.settled.Load() {
		return nil
	}
	if err := s.checkApart(); err != nil {
		return badError("Sharded: %w", err)
	}
	for _, p := range s.fleets("") {
		if !p.fleet.known() {
			return nil
		}
	}
	s.settled.Store(true)
	return nil
}
