package redlock

import (
	"fmt"
	"time"
)

// Renewal says how a held lock is kept alive.
type Renewal struct {
	// Every is the time between renewals, from the start of one round to the
	// start of the next. 0: a third of the validity, which is the TTL less
	// clock drift and what GuardStrict takes. At least 5 ms, at most half of
	// the TTL; half of the validity where that is less.
	Every time.Duration
	// MaxHold bounds the hold: no renewal starts later than this after the
	// lock was acquired, and the lock then runs out within its TTL. 0: no
	// bound.
	MaxHold time.Duration
	// MaxCount bounds the number of renewals. 0: no bound.
	MaxCount int
}

// WithTTL sets how long the masters keep the key after the last message of the
// holder: 20 ms up to WithMaxTTL; 10 s by default. The lock is renewed until Unlock;
// [WithLease] sets a TTL without renewal. The last of the two in a call counts.
func WithTTL(d time.Duration) LockOption {
	return lockOption(func(o *lockOptions) error {
		if err := checkTTL("WithTTL", d); err != nil {
			return err
		}
		o.ttl, o.ttlBy, o.hold.Fixed = d, byTTL, false
		return nil
	})
}

// WithLease sets a fixed TTL of 20 ms up to WithMaxTTL. Other than with [WithTTL], the lock is not
// renewed. It ends by itself slightly before d, at [Lock.ValidUntil].
func WithLease(d time.Duration) LockOption {
	return lockOption(func(o *lockOptions) error {
		if err := checkTTL("WithLease", d); err != nil {
			return err
		}
		o.ttl, o.ttlBy, o.hold.Fixed = d, byLease, true
		return nil
	})
}

// WithUnlockOnly leaves the release to Unlock alone. Otherwise the end of a lease, a loss and
// [Client.Close] also delete the key if it is still ours. With this option the key stays for the
// rest of its TTL. It is for a lock that somebody else, such as another Redlock library, goes on to
// hold with its [Lock.Token], which is then shared.
func WithUnlockOnly() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.hold.UnlockOnly = true
		return nil
	})
}

func checkTTL(option string, d time.Duration) error {
	if d < minTTL || d > maxTTLLimit {
		return fmt.Errorf("%s: %v: want %v to %v", option, d, minTTL, maxTTLLimit)
	}
	if d%time.Millisecond != 0 {
		return fmt.Errorf("%s: %v: want whole milliseconds, as Redis counts them", option, d)
	}
	return nil
}

// WithRenewal sets how the lock is renewed, and for how long. By default it is
// renewed at every third of its validity until Unlock. It undoes WithLease.
func WithRenewal(r Renewal) LockOption {
	return lockOption(func(o *lockOptions) error {
		if r.Every != 0 && (r.Every < minRenewal || r.Every > maxTTLLimit/2) {
			return fmt.Errorf("WithRenewal: Every is %v: want %v to half of the TTL, "+
				"or 0 for a third of the validity", r.Every, minRenewal)
		}
		if r.MaxHold < 0 {
			return fmt.Errorf("WithRenewal: MaxHold is %v: want 0 (no bound) or more", r.MaxHold)
		}
		if r.MaxCount < 0 {
			return fmt.Errorf("WithRenewal: MaxCount is %d: want 0 (no bound) or more", r.MaxCount)
		}
		o.hold.Every, o.hold.MaxHold, o.hold.MaxCount, o.hold.Fixed = r.Every, r.MaxHold, r.MaxCount, false
		return nil
	})
}

// A ttlOption says which option has set the TTL.
type ttlOption uint8

const (
	byDefault ttlOption = iota
	byTTL
	byLease
)

// String returns the name of the option in errors.
func (o ttlOption) String() string {
	switch o {
	case byTTL:
		return "WithTTL"
	case byLease:
		return "WithLease"
	default:
		return "the default TTL (WithTTL)"
	}
}
