package redlock

import (
	"context"
	"errors"
	"slices"

	"github.com/redquorum/redquorum/internal/script"
)

// anyKind is an attempt at one of several keys. Once it has been granted, the
// lock is the plain one of the key that it got.
var anyKind = &kind{
	acquire:  script.AcquireAny,
	oneOf:    true,
	extend:   script.ExtendAll,
	verify:   script.VerifyAll,
	release:  script.ReleaseAll,
	guarded:  guardedScripts{script.GuardedAcquireAny, script.GuardedExtendAll, script.GuardedReleaseAll},
	inTheWay: "first",
}

// LockAny acquires exactly one of the keys, whichever is free; the lock's Key
// tells which. From then on it is the plain lock of that key. So at most as many
// callers hold a lock as there are keys: it is a counting semaphore, and what is
// split into segments can be locked one segment at a time.
//
// The keys are tried in an order that is random for each attempt and the same on
// all masters. While many contend, votes may be split among keys, so that an
// attempt fails with ErrTaken although a key is free; LockAny then tries again
// with another order. 1 to 128 keys, duplicates count once; of one key it is
// Lock.
//
// Waiting and errors are those of Lock. It is refused with ErrReentrant only if
// the context carries holds on all of the keys, for then none can become free
// while the caller waits.
func (c *Client) LockAny(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAny(ctx, keys, opts, false)
}

// TryLockAny is LockAny with one attempt, as TryLock is Lock with one. Among
// contenders it may fail although a key is free.
func (c *Client) TryLockAny(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAny(ctx, keys, opts, true)
}

func (c *Client) lockAny(ctx context.Context, keys []string, opts []LockOption, once bool) (*Lock, error) {
	template, err := c.newSet(ctx, anyKind, keys, opts)
	if err != nil {
		return nil, err
	}
	free := func(key string) bool { return c.holdIn(ctx, key) == nil }
	if !slices.ContainsFunc(template.Keys(), free) {
		return nil, &reentrantError{template.key}
	}
	return c.acquireAs(ctx, template, once)
}

// shuffle puts the keys into an order that is random: with the same order for
// all, contenders that start together would split each other's votes for the
// first key, and then for the next.
func (l *Lock) shuffle() {
	keys := slices.Clone(l.claim.keys)
	l.c.opts.chance.Shuffle("order", len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	l.claim.keys, l.claim.sides = keys, nil
}

// errElsewhere is what a master says that granted a key which came to nothing.
var errElsewhere = errors.New("granted another of the keys")

// settleOn makes the lock that of the one key that was granted at a quorum. The
// token is released on all other keys, on every master that may have granted one
// of those: behind the acquisition on the same connection, so that this also
// holds for grants that are still to come (S5).
func (l *Lock) settleOn(res *result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	granted := res.slot - 1
	key := l.claim.keys[granted].(string)
	others := slices.Concat(l.claim.keys[:granted], l.claim.keys[granted+1:])
	release, rest := l.releaseScript(others)

	l.claim.kind, l.key, l.others = plainKind, l.c.withoutPrefix(key), nil
	l.claim.one[0] = key
	l.claim.keys, l.claim.sides = l.claim.one[:], nil
	l.claim.absent = res.absent | res.elsewhere

	if nothing := res.absent | res.here; nothing != l.c.everyone() {
		r := l.c.newRound(opRelease)
		if l.isGuarded() {
			r.eval(release, rest, nothing, l.keepRelease(), l.claim.token)
		} else {
			r.tells, r.passing = others, true
			r.eval(script.ReleaseSet, others, nothing, l.keepRelease(), l.claim.token, l.c.id)
		}
		r.LetGo()
	}
}
