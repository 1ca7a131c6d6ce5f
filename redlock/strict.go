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

// validateMaxTTL checks what strict asks of WithMaxTTL.
func (o *clientOptions) validateMaxTTL() error {
	if o.maxTTL < o.leastTTL() {
		return fmt.Errorf("WithMaxTTL: %v: want %v to %v with GuardStrict", o.maxTTL, o.leastTTL(), maxTTLLimit)
	}
	return nil
}

// validity is for how long a lock of this TTL can be relied upon, from before
// the first byte that asked for it was sent.
func (o *clientOptions) validity(ttl time.Duration) time.Duration {
	v := o.drift.Validity(ttl, 0)
	if o.strict() {
		// A clock may be behind by the S of this lock when it grants it, and ahead by the
		// S of another lock when the next client asks. No lock has a greater S than one of
		// MaxTTL.
		v -= guard.Skew(ttl) + guard.Skew(o.maxTTL) + o.clockErr
	}
	return v
}

// taken says what a lock's validity is shorter by than its TTL.
func (o *clientOptions) taken(ttl time.Duration) string {
	drift := fmt.Sprintf("a clock drift of %v", o.drift.Allowance(ttl))
	if !o.strict() {
		return drift
	}
	return fmt.Sprintf("%s, clocks that are off by %v and by %v with GuardStrict, and WithClockError(%v)", drift, guard.Skew(ttl), guard.Skew(o.maxTTL), o.clockErr)
}

// A SkewError says that a master's answer did not count, because its clock and this
// client's differ by more than GuardStrict allows. It is the Err of a NodeError.
type SkewError struct {
	Off   time.Duration // by how much the master's clock is ahead; negative: behind; 0: not known exactly
	Limit time.Duration // what is allowed: a tenth of the TTL, at most 500 ms
}

// Error is one line.
func (e *SkewError) Error() string { return (*wire.SkewError)(e).Error() }

// A ClockError says that this client's clock is what is wrong: a quorum of
// masters differ from it in the same direction. An error that has one matches
// ErrNoQuorum.
type ClockError struct {
	Off     time.Duration // by how much this client's clock is ahead of theirs, the median; negative: behind
	Masters int           // masters that say so
	Total   int           // masters there are
	Limit   time.Duration // what is allowed: a tenth of the TTL, at most 500 ms
}

// Error is one line.
func (e *ClockError) Error() string {
	way := "ahead of"
	if e.Off < 0 {
		way = "behind"
	}
	return fmt.Sprintf("this client's clock is %v %s that of %d of %d masters, %v allowed", e.Off.Abs().Round(time.Millisecond), way, e.Masters, e.Total, e.Limit)
}
