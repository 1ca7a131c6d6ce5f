package drift

import (
	"fmt"
	"math"
	"time"
)

// The limits of a Policy. A master whose clock runs off by more than half is broken, and a floor
// above a minute leaves common TTLs no validity at all: both are far likelier to be a mistake
// (percent for a fraction, seconds for milliseconds) than meant.
const (
	maxFactor = 0.5
	maxFloor  = time.Minute
)

// Policy says how far a master's clock may run off ours within one TTL. The validity of a lock is
// shortened by TTL × Factor + Floor.
//
// A greater allowance tolerates worse clocks and leaves less of each TTL to use. The zero Policy is
// valid and allows nothing: it asks for clocks that run at exactly the same rate.
//
// The methods are pure functions. They are total: of a Policy that does not pass Validate, a
// negative field counts as 0 and a Factor that is not a number allows everything, so that no
// validity is left.
type Policy struct {
	// Factor is the share of the TTL by which two clocks may differ at its
	// end, without unit, in [0, 0.5]. 0.01 is one percent: 100 ms in 10 s.
	Factor float64
	// Floor is added whatever the TTL, in [0, 1 minute]. It covers what does not grow with the TTL:
	// the granularity of Redis' expiry (1 ms) and the least drift of short TTLs.
	Floor time.Duration
}

// Default is one percent and 2 ms, as in the reference implementation of Redlock. Quartz clocks
// commonly agree within 0.01 percent; the rest is margin for clocks that are being slewed.
var Default = Policy{Factor: 0.01, Floor: 2 * time.Millisecond}

// Validate returns an error that names the field, its value and the accepted range when Factor is
// not a number in [0, 0.5] or Floor is outside [0, 1 minute].
func (p Policy) Validate() error {
	// Written so that NaN, for which every comparison is false, is refused.
	if inRange := p.Factor >= 0 && p.Factor <= maxFactor; !inRange {
		return fmt.Errorf("drift: Policy.Factor is %v, want a number in [0, %v]", p.Factor, maxFactor)
	}
	if p.Floor < 0 || p.Floor > maxFloor {
		return fmt.Errorf("drift: Policy.Floor is %v, want a duration in [0s, %v]", p.Floor, maxFloor)
	}
	return nil
}

// Allowance returns ttl × Factor + Floor, rounded up to the nanosecond: by how much a master may
// have expired a key of this TTL early, seen by our clock. A ttl of 0 or less counts as 0. The
// result is never negative, never falls when ttl grows, and saturates at the greatest Duration.
//
// The product is one float64 multiplication, so that one percent of 10 s is 100 ms and not, as 0.01
// is no binary fraction, a nanosecond more. It is exact to the nanosecond up to 2⁵³ ns, which are
// 104 days, and to one part in 2⁵² above.
func (p Policy) Allowance(ttl time.Duration) time.Duration {
	share := math.Ceil(float64(max(ttl, 0)) * p.Factor)
	if math.IsNaN(share) || share >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(add(int64(max(share, 0)), int64(max(p.Floor, 0))))
}

// Validity returns ttl − elapsed − Allowance(ttl): for how much longer a lock may be relied upon,
// elapsed after the attempt that took it began. A result of 0 or less means that it may not. A
// negative elapsed counts as 0, so the result never exceeds ttl; it saturates at the least Duration
// and never overflows into a positive one.
func (p Policy) Validity(ttl, elapsed time.Duration) time.Duration {
	left := sub(int64(ttl), int64(max(elapsed, 0)))
	return time.Duration(sub(left, int64(p.Allowance(ttl))))
}
