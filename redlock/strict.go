package redlock

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
)

// GuardStrict adds this to every grant: clocks are compared, and leases are kept beside the locks'
// keys (SAFETY: GuardStrict).

const (
	defaultClockError = 100 * time.Millisecond
	maxClockError     = 10 * time.Second
)

// WithClockError sets by how much clients' wall clocks may be wrong against each
// other with GuardStrict: 0 to 10 s, 100 ms by default. What counts is the time from
// the start of one client's attempt to the start of another's, as their wall clocks
// show it. So a difference between the two clocks counts in full, and so does a step
// or a slew in between. The validity of every lock is shorter by that much. Other
// guard levels do not use it. Give every client the same value.
func WithClockError(d time.Duration) Option {
	return upTo(maxClockError, "WithClockError", d, func(o *clientOptions) *time.Duration { return &o.clockErr })
}

func (o *clientOptions) strict() bool { return o.guard == GuardStrict || o.strictGrants }

// leastTTL is the shortest TTL that a lock may have.
func (o *clientOptions) leastTTL() time.Duration {
	if o.strict() {
		return minStrictTTL
	}
	return minTTL
}

// validateMaxTTL checks that WithMaxTTL is no shorter than the shortest TTL.
func (o *clientOptions) validateMaxTTL() error {
	if o.maxTTL < o.leastTTL() {
		return fmt.Errorf("WithMaxTTL: %v: want %v to %v with GuardStrict", o.maxTTL, o.leastTTL(), maxTTLLimit)
	}
	return nil
}

// validity returns how long a lock of this TTL can be relied upon. It counts from before the first
// byte of its request was sent.
func (o *clientOptions) validity(ttl time.Duration) time.Duration {
	v := o.drift.Validity(ttl, 0)
	if o.strict() {
		// A master's clock may be behind by the skew S of this lock when it grants it, and ahead by
		// the S of another lock when the next client asks. No lock has a greater S than one of
		// MaxTTL.
		v -= guard.Skew(ttl) + guard.Skew(o.maxTTL) + o.clockErr
	}
	return v
}

// taken says what makes a lock's validity shorter than its TTL.
func (o *clientOptions) taken(ttl time.Duration) string {
	drift := fmt.Sprintf("a clock drift of %v", o.drift.Allowance(ttl))
	if !o.strict() {
		return drift
	}
	return fmt.Sprintf("%s, clocks that are off by %v and by %v with GuardStrict, and WithClockError(%v)",
		drift, guard.Skew(ttl), guard.Skew(o.maxTTL), o.clockErr)
}
