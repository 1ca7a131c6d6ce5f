package drift

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const longest = time.Duration(math.MaxInt64)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy Policy
		want   []string // parts of the error; none: valid
	}{
		{"default", Default, nil},
		{"upper limits", Policy{Factor: 0.5, Floor: time.Minute}, nil},
		{"factor above", Policy{Factor: math.Nextafter(0.5, 1)}, []string{"Factor", "0.5000000000000001", "[0, 0.5]"}},
		{"factor below", Policy{Factor: -0.01}, []string{"Factor", "-0.01", "[0, 0.5]"}},
		{"factor not a number", Policy{Factor: math.NaN()}, []string{"Factor", "NaN", "[0, 0.5]"}},
		{"floor above", Policy{Floor: time.Minute + 1}, []string{"Floor", "1m0.000000001s", "[0s, 1m0s]"}},
		{"floor below", Policy{Floor: -1}, []string{"Floor", "-1ns", "[0s, 1m0s]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.policy.Validate()
			if tt.want == nil {
				if err != nil {
					t.Fatalf("Validate() = %v, want no error", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("Validate() accepts %+v", tt.policy)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Validate() = %q, which does not mention %q", err, part)
				}
			}
		})
	}
}

func TestAllowanceAndValidity(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name         string
		policy       Policy
		ttl, elapsed time.Duration
		allowance    time.Duration
		validity     time.Duration
	}{
		{"shortest TTL of the library", Default, 20 * ms, 3 * ms, 2200 * time.Microsecond, 14800 * time.Microsecond},
		{"default TTL, some elapsed", Default, 10 * time.Second, 5 * ms, 102 * ms, 9893 * ms},
		{"rounded up", Default, 101, 0, 2*ms + 2, 101 - 2*ms - 2},
		{"rounded up from next to nothing", Policy{Factor: 1e-12}, 1, 0, 1, 0},
		{"greatest policy", Policy{Factor: 0.5, Floor: time.Minute}, time.Hour, 0, 31 * time.Minute, 29 * time.Minute},
		{"negative elapsed counts as 0", Default, 10 * time.Second, -time.Hour, 102 * ms, 9898 * ms},
		{"negative TTL", Default, -time.Second, 0, 2 * ms, -time.Second - 2*ms},
		{"greatest TTL", Policy{Factor: 0.5}, longest, 0, 1 << 62, 1<<62 - 1},
		{"endless elapsed", Default, 10 * time.Second, longest, 102 * ms, 10*time.Second - 102*ms - longest},
		{"all at the limit", Policy{Factor: math.Inf(1)}, 0, longest, longest, math.MinInt64},
		{"allowance saturates", Policy{Factor: 1, Floor: time.Minute}, longest, 0, longest, 0},
		{"least TTL saturates", Default, math.MinInt64, longest, 2 * ms, math.MinInt64},
		{"unvalidated: factor not a number", Policy{Factor: math.NaN()}, time.Second, 0, longest, time.Second - longest},
		{"unvalidated: negative factor", Policy{Factor: -3, Floor: ms}, time.Second, 0, ms, 999 * ms},
		{"unvalidated: negative factor of a negative TTL", Policy{Factor: -3}, -time.Second, 0, 0, -time.Second},
		{"unvalidated: negative floor", Policy{Floor: -ms}, time.Second, 0, 0, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.Allowance(tt.ttl); got != tt.allowance {
				t.Errorf("Allowance(%v) = %v, want %v", tt.ttl, got, tt.allowance)
			}
			if got := tt.policy.Validity(tt.ttl, tt.elapsed); got != tt.validity {
				t.Errorf("Validity(%v, %v) = %v, want %v", tt.ttl, tt.elapsed, got, tt.validity)
			}
		})
	}
}

// eachRandomCase calls check with valid policies and durations of every order
// of magnitude and sign, the same ones in every run.
func eachRandomCase(t *testing.T, check func(p Policy, a, b time.Duration)) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	duration := func() time.Duration { return time.Duration(r.Int64()>>r.IntN(63)) * time.Duration(1-2*r.IntN(2)) }
	for range 50_000 {
		p := Policy{Factor: r.Float64() / 2 * math.Pow10(-r.IntN(12)), Floor: time.Duration(r.Int64N(int64(time.Minute) + 1))}
		if r.IntN(8) == 0 {
			p = Policy{Factor: float64(r.IntN(501)) / 1000}
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("the test made an invalid policy: %v", err)
		}
		check(p, duration(), duration())
		if t.Failed() {
			return
		}
	}
}

func TestAllowanceIsTheExactProductRoundedUp(t *testing.T) {
	one := big.NewRat(1, 1)
	eachRandomCase(t, func(p Policy, ttl, _ time.Duration) {
		ttl = max(ttl, 0)
		exact := new(big.Rat).SetFloat64(p.Factor)
		exact.Mul(exact, new(big.Rat).SetInt64(int64(ttl)))
		got := new(big.Rat).SetInt64(int64(p.Allowance(ttl) - p.Floor))

		// Up to 2⁵³ the float64 product may be off by less than half a
		// nanosecond, above by a part in 2⁵² of itself.
		slack := big.NewRat(1, 2)
		if ttl > 1<<53 {
			slack.Add(slack, new(big.Rat).Mul(exact, big.NewRat(1, 1<<52)))
		}
		low := new(big.Rat).Sub(exact, slack)
		high := new(big.Rat).Add(exact, slack)
		high.Add(high, one)
		if got.Cmp(low) < 0 || got.Cmp(high) >= 0 {
			t.Errorf("%+v: Allowance(%d) − Floor = %s, want about %s", p, ttl, got.FloatString(0), exact.FloatString(3))
		}
	})
}

func TestValidityElapsedAndAllowanceMakeUpTheTTL(t *testing.T) {
	exact := 0
	eachRandomCase(t, func(p Policy, ttl, elapsed time.Duration) {
		sum := func() *big.Int {
			s := big.NewInt(int64(ttl))
			s.Sub(s, big.NewInt(int64(max(elapsed, 0))))
			return s.Sub(s, big.NewInt(int64(p.Allowance(ttl))))
		}()
		got := p.Validity(ttl, elapsed)
		if got > ttl {
			t.Errorf("%+v: Validity(%d, %d) = %d exceeds the TTL", p, ttl, elapsed, got)
		}
		switch {
		case !sum.IsInt64():
			if got != math.MinInt64 {
				t.Errorf("%+v: Validity(%d, %d) = %d, want it saturated", p, ttl, elapsed, got)
			}
		case sum.Int64() != int64(got):
			t.Errorf("%+v: Validity(%d, %d) = %d, want %d", p, ttl, elapsed, got, sum)
		default:
			exact++
		}
	})
	if exact < 25_000 {
		t.Errorf("only %d cases did not saturate: the test lost its point", exact)
	}
}
