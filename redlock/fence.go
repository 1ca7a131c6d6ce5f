package redlock

import (
	"fmt"
	"time"
)

const (
	leastRetention = time.Hour
	usualRetention = 24 * time.Hour
	mostRetention  = 365 * 24 * time.Hour
)

// WithFencing asks for a fencing token, [Lock.Fence]: a number that is higher for
// each holder of a key than for all before it. Give it to the resource with every
// write, and have the resource refuse a number lower than the highest that it has
// seen. Then a holder that was paused past the end of its lock does no harm.
//
// While no master loses data, tokens rise whatever the clocks do. Where masters lose
// data, they rise as long as the clocks of the clients that lock the key differ by less
// than the time for which such masters do not vote (see [WithClientSkew]). They need Redis 5.0.
// They cost no further round trip, except in one of some thousand acquisitions.
//
// The numbers are of use only if every lock of the key is acquired with this option. A reader (see
// [RWMutex.RLock]) gets the highest token that a writer has had, or 0 if none is known. After a
// loss of data it may be lower than the token of an earlier writer. It is not the reader's own
// token, so a resource should compare it and not store it. LockAny gives the token of the granted
// key: it fences only what belongs to that key.
func WithFencing() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.fenced = true
		return nil
	})
}

// WithFenceRetention sets for how long masters keep what they know of a key's
// fencing tokens after it was last locked or extended. The least is an hour plus
// twice WithMaxTTL plus twice WithClientSkew, which is longer than a master that
// lost data is kept from voting. The most is 365 days. The default is 24 hours, or
// the least if that is more. With GuardStrict masters keep it for 24 hours at the
// least, and for WithMaxTTL on top. After that time the tokens rise by the clients'
// clocks alone. Give every client the same value.
func WithFenceRetention(d time.Duration) Option {
	return clientOption(func(o *clientOptions) error {
		if d < leastRetention || d > mostRetention {
			return fmt.Errorf("WithFenceRetention: %v: want %v to %v", d, leastRetention, mostRetention)
		}
		o.retention = d
		return nil
	})
}

// settleRetention checks the retention once all options are known.
func (o *clientOptions) settleRetention() error {
	least := leastRetention + 2*o.maxTTL + 2*o.clientSkew
	switch {
	case o.retention == 0:
		o.retention = max(usualRetention, least)
	case o.retention < least:
		return fmt.Errorf("WithFenceRetention: %v: want %v (an hour, twice WithMaxTTL and twice WithClientSkew) to %v",
			o.retention, least, mostRetention)
	}
	kept := o.retention
	if o.strict() {
		// A lease record guards against steps of the clock, so it must outlast them. Fences are
		// kept for the same time: one argument less makes a measurable difference on a master.
		kept = max(kept, usualRetention) + o.maxTTL
	}
	o.kept = kept
	return nil
}

// Fence returns the fencing token, for the resource that the lock protects; 0 unless the lock was
// acquired [WithFencing]. ([Lock.Token] is only for Redis and Adopt.) The fencing token stays the
// same for as long as the lock is held, also over renewals. It is below 2^53. After Adopt it may be
// higher than the token of the first process.
func (l *Lock) Fence() uint64 { return l.handle.Hold().Fence() }

// An unfencedError refuses a handle with a fencing token on a hold without one.
type unfencedError struct{ key string }

func (e *unfencedError) Error() string {
	return fmt.Sprintf("redlock: lock %q: %v without a fencing token: want WithFencing there too", e.key, ErrReentrant)
}

func (e *unfencedError) Unwrap() error { return ErrReentrant }
