package fleets

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A Hold is what a [*redlock.Lock] and the holds of several fleets have in common.
// It is held until Unlock, or until it is lost, which Context tells. All methods are
// those of redlock.Lock, and safe for concurrent use. A hold in several fleets is
// held as long as it is held in each of them.
type Hold interface {
	// Key is the key as it was given; of several the first in the order of strings.
	Key() string
	// Fence is the fencing token; 0 unless acquired with redlock.WithFencing.
	Fence() uint64
	// Remaining is for how much longer it is guaranteed; of several fleets the least.
	Remaining() time.Duration
	// ValidUntil is the same as an instant, for people and logs.
	ValidUntil() time.Time
	// Context ends when the hold can no longer be guaranteed in one of its fleets, with
	// a cause that matches redlock.ErrLost; or with redlock.ErrUnlocked.
	Context() context.Context
	// Extend prolongs it to a full TTL from now, in all of its fleets at once.
	Extend(ctx context.Context) error
	// Verify asks all of its fleets at once whether they still have it.
	Verify(ctx context.Context) error
	// Unlock ends it. It is always sent; ctx bounds the waiting alone.
	Unlock(ctx context.Context) error
}

// A Locker takes locks: on one fleet ([One]), on the fleet of each key ([Sharded]), or in
// two fleets at once ([Moving]).
type Locker interface {
	// Lock acquires the key. It waits while somebody else holds it, as long as ctx
	// allows (see redlock.Client.Lock).
	Lock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error)
	// TryLock is Lock with one attempt.
	TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error)
	// Do runs fn while the key is held (see redlock.Client.Do).
	Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error
	// Ready waits until a quorum of each fleet may vote, or says of which it may not.
	Ready(ctx context.Context) error
	// Close closes the clients of all fleets, and waits for that. It returns nil.
	Close() error
}

// asHold makes a Hold of what a client returns: a nil *redlock.Lock would be a Hold
// that is not nil.
func asHold(l *redlock.Lock, err error) (Hold, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
