package fleets

import (
	"context"
	"slices"

	"github.com/redquorum/redquorum/redlock"
)

const maxKeys = 128 // in one fleet, as redlock.Client.LockAll has it

// LockAll acquires all of the keys or none, as one hold. In each shard it acquires
// them as redlock.Client.LockAll does, in one round trip. It takes the shards one
// after the other, in the order of their names. So n shards cost n round trips, and
// the shards taken first are in others' way meanwhile. Where all keys are of one
// shard it is that shard's LockAll.
//
// Nobody waits in one shard while holding keys in another. Where keys are taken,
// LockAll gives back those of other shards before it waits, and takes them again
// afterwards. So callers whose keys overlap do not deadlock, whatever the order. A
// caller that needs many contended keys of several shards may wait for long.
//
// The hold has one fencing token, above all earlier ones of each key. 1 to 128 keys
// in each shard, in any order; duplicates count once.
func (s *Shards) LockAll(ctx context.Context, keys []string, opts ...redlock.LockOption) (Hold, error) {
	return s.lockAll(ctx, keys, false, opts)
}

// TryLockAll is LockAll with one attempt.
func (s *Shards) TryLockAll(ctx context.Context, keys []string, opts ...redlock.LockOption) (Hold, error) {
	return s.lockAll(ctx, keys, true, opts)
}

func (s *Shards) lockAll(ctx context.Context, keys []string, once bool, opts []redlock.LockOption) (Hold, error) {
	keys, err := s.keys(keys)
	if err != nil {
		return nil, err
	}
	return acquireParts(ctx, keys[0], s.plan(keys, ""), asPlain, once, opts, &s.jobs)
}

// keys checks the keys of a call and sorts them.
func (s *Shards) keys(keys []string) ([]string, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, badError("lock: 0 keys: want at least 1, at most %d in each shard", maxKeys)
	}
	return sorted(slices.Clone(keys)), nil
}

// acquireParts acquires what a plan names.
func acquireParts(ctx context.Context, key string, parts []part, w way, once bool, opts []redlock.LockOption, j *jobs) (Hold, error) {
	if len(parts) == 1 {
		p := &parts[0]
		return (&shard{name: p.path}).hold(w(ctx, p.fleet.client, p.keys, once, opts))
	}
	a := acquisition{key: key, parts: parts, way: w, opts: opts, jobs: j}
	h, err := a.acquire(ctx, once)
	if err != nil {
		return nil, err
	}
	return h, nil
}
