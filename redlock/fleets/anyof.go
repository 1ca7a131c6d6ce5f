package fleets

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// LockAny acquires exactly one of the keys, whichever is free; the hold's Key tells
// which. It tries the shards that have keys among them, in an order that is random
// for each call, each as redlock.Client.LockAny does. Where all keys are taken it
// waits in one of the shards at a time, for a moment, and then tries the others
// again. So it finds a key that becomes free in another shard a little later, not at
// once. Where no shard has a quorum the call ends with redlock.ErrNoQuorum as Lock
// does, after WithOutageWait in a shard.
//
// 1 to 128 keys in each shard; duplicates count once.
func (s *Shards) LockAny(ctx context.Context, keys []string, opts ...redlock.LockOption) (Hold, error) {
	return s.lockAny(ctx, keys, false, opts)
}

// TryLockAny is LockAny with one attempt in each shard.
func (s *Shards) TryLockAny(ctx context.Context, keys []string, opts ...redlock.LockOption) (Hold, error) {
	return s.lockAny(ctx, keys, true, opts)
}

// LockAny waits in one shard for a time between these, like a client that polls.
const (
	leastVisit = 50 * time.Millisecond
	mostVisit  = 250 * time.Millisecond
)

func (s *Shards) lockAny(ctx context.Context, keys []string, once bool, opts []redlock.LockOption) (Hold, error) {
	keys, err := s.keys(keys)
	if err != nil {
		return nil, err
	}
	groups := s.groups(keys)
	if len(groups) == 1 {
		return groups[0].lock(ctx, once, opts)
	}
	for {
		rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		h, left, err := tryEach(ctx, groups, opts)
		if err == nil || once || left == nil || ctx.Err() != nil {
			return h, err
		}
		// Where nothing is taken it is an outage: then the wait is as long as Lock's.
		groups = left
		h, err = groups[0].visit(ctx, errors.Is(err, redlock.ErrTaken), opts)
		if err == nil || ctx.Err() != nil || !errors.Is(err, redlock.ErrTaken) {
			return h, err
		}
	}
}

// tryEach makes one attempt in each group until one succeeds. left has the groups in which
// a later attempt may succeed.
func tryEach(ctx context.Context, groups []group, opts []redlock.LockOption) (h Hold, left []group, err error) {
	var errs []error
	for _, g := range groups {
		h, err := g.lock(ctx, true, opts)
		switch {
		case err == nil:
			return h, nil, nil
		case errors.Is(err, redlock.ErrTaken), errors.Is(err, redlock.ErrNoQuorum):
			left = append(left, g)
		case !errors.Is(err, redlock.ErrReentrant): // which another key may not be
			return nil, nil, err
		}
		errs = append(errs, err)
	}
	// That a key is taken says that there is nothing to mend.
	if i := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, redlock.ErrTaken) }); i >= 0 {
		return nil, left, errs[i]
	}
	return nil, left, joined(errs)
}

// A group has the keys that LockAny tries in one step: the keys of one shard, or one of
// them if the shard is made of several fleets.
type group struct {
	shard *shard
	keys  []string
}

// groups returns the groups for keys.
func (s *Shards) groups(keys []string) []group {
	var groups []group
	for _, key := range keys {
		sh := s.of(key)
		i := slices.IndexFunc(groups, func(g group) bool { return g.shard == sh })
		if i < 0 || sh.client == nil {
			groups = append(groups, group{sh, []string{key}})
			continue
		}
		groups[i].keys = append(groups[i].keys, key)
	}
	return groups
}

// lock acquires one of the keys.
func (g group) lock(ctx context.Context, once bool, opts []redlock.LockOption) (Hold, error) {
	switch sh := g.shard; {
	case sh.client == nil:
		return sh.lock(ctx, g.keys[0], once, opts)
	case once:
		return sh.hold(sh.client.TryLockAny(ctx, g.keys, opts...))
	default:
		return sh.hold(sh.client.LockAny(ctx, g.keys, opts...))
	}
}

// visit waits for one of the keys: shortly, or as long as Lock does.
func (g group) visit(ctx context.Context, shortly bool, opts []redlock.LockOption) (Hold, error) {
	if shortly {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, leastVisit+rand.N(mostVisit-leastVisit))
		defer cancel()
	}
	return g.lock(ctx, false, opts)
}
