package redlock

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/wire"
)

// What GuardStrict adds to every grant: clocks are compared, and leases are
// kept beside the locks' keys (SAFETY: GuardStrict).

const (
	defaultClockError = 100 * time.Millisecond
	maxClockError     = 10 * time.Second
)

// WithClockError sets by how much two clients' wall clocks may misreport the time
// between the starts of two attempts: one that is stepped meanwhile, or slewed, or
// that merely shows another time than the other one, which counts in full. 0 to
// 10 s, 100 ms by default. With GuardStrict the validity of every lock is
// shorter by that much; otherwise it is not used. Give every client the same.
func WithClockError(d time.Duration) Option {
	return upTo(maxClockError, "WithClockError", d, func(o *clientOptions) *time.Duration { return &o.clockErr })
}

func (o *clientOptions) strict() bool { return o.guard == GuardStrict || o.strictGrants }

// validity is for how long a lock of this TTL can be relied upon, from before
// the first byte that asked for it was sent.
func (o *clientOptions) validity(ttl time.Duration) time.Duration {
	v := o.drift.Validity(ttl, 0)
	if o.strict() {
		// Twice: a clock that was S ahead when it granted the lock may be S
		// behind when it is asked the next time, or the other way round.
		v -= 2*guard.Skew(ttl) + o.clockErr
	}
	return v
}

// validateStrict checks what strict asks of a lock.
func (o *lockOptions) validateStrict(c *clientOptions) error {
	if !c.strict() {
		return nil
	}
	if o.ttl < minStrictTTL {
		return fmt.Errorf("%v: %v: want %v to %v with GuardStrict", o.ttlBy, o.ttl, minStrictTTL, c.maxTTL)
	}
	if v := c.validity(o.ttl); v <= 0 {
		return fmt.Errorf("%v: %v leaves no validity with GuardStrict, after a clock drift of %v, a skew of 2 × %v and WithClockError(%v): want a longer TTL",
			o.ttlBy, o.ttl, c.drift.Allowance(o.ttl), guard.Skew(o.ttl), c.clockErr)
	}
	return nil
}

// A SkewError is what a master contributed whose clock and this client's differ
// by more than GuardStrict allows: nothing that counts. It is in a NodeError.
type SkewError struct {
	Off   time.Duration // by how much the master's clock is ahead; negative: behind; 0: not known exactly
	Limit time.Duration // S
}

func (e *SkewError) Error() string { return (*wire.SkewError)(e).Error() }

// A ClockError says that this client's clock is what is wrong: a quorum of
// masters differ from it in the same direction. An error that has one matches
// ErrNoQuorum.
type ClockError struct {
	Off     time.Duration // by how much this client's clock is ahead of theirs, the median; negative: behind
	Masters int           // that say so
	Total   int
	Limit   time.Duration // S
}

func (e *ClockError) Error() string {
	way := "ahead of"
	if e.Off < 0 {
		way = "behind"
	}
	return fmt.Sprintf("this client's clock is %v %s that of %d of %d masters, %v allowed", e.Off.Abs().Round(time.Millisecond), way, e.Masters, e.Total, e.Limit)
}
