package drift

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A remote is a master whose clock the test sets, seen from a Fake clock of ours.
type remote struct {
	ours   *Fake
	ahead  time.Duration // of our wall clock at origin
	rate   float64       // faster than ours, as a fraction
	origin Instant
}

func newRemote(ahead time.Duration, rate float64) *remote {
	ours := NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &remote{ours: ours, ahead: ahead, rate: rate, origin: ours.Now()}
}

// now is the master's clock, with all its digits.
func (r *remote) now() time.Time {
	since := r.ours.Now().steady(r.origin)
	return r.origin.Wall().Add(since + r.ahead + time.Duration(r.rate*float64(since)))
}

// set makes the master's clock run at another rate from now on, without a step.
func (r *remote) set(rate float64) {
	at := r.now()
	r.origin, r.rate = r.ours.Now(), rate
	r.ahead = at.Sub(r.origin.Wall())
}

// read asks for the time: the question takes there, and the reply back. It also returns by how much
// the master was ahead of our wall clock when it looked.
func (r *remote) read(there, back time.Duration) (reading Reading, ahead time.Duration) {
	reading.Sent = r.ours.Now()
	r.ours.Advance(there)
	reading.Time, ahead = r.now().Truncate(timeStep), r.now().Sub(r.ours.Now().Wall())
	r.ours.Advance(back)
	reading.Received = r.ours.Now()
	return reading, ahead
}

func add1(t *testing.T, m *Meter, r Reading) *Deviation {
	t.Helper()
	d, err := m.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func random(rng *rand.Rand, upTo time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(upTo) + 1))
}

func TestTheTrueOffsetIsWithinWhatIsReported(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		policy := Policy{Factor: rng.Float64() * 0.02, Floor: random(rng, 3*time.Millisecond)}
		// Within the policy, now and then at its very edge.
		share := 2*rng.Float64() - 1
		if seed%5 == 0 {
			share = 1
		}
		r := newRemote(random(rng, 48*time.Hour)-24*time.Hour, share*policy.Factor)
		m := NewMeter(policy)
		for i := range 100 {
			r.ours.Advance(random(rng, 10*time.Second))
			if rng.IntN(20) == 0 {
				r.ours.Suspend(random(rng, time.Hour))
			}
			if rng.IntN(20) == 0 { // its difference to the master is a new one
				step := random(rng, 2*time.Hour) - time.Hour
				r.ours.StepWall(step)
			}
			there, back := random(rng, 200*time.Millisecond), random(rng, 200*time.Millisecond)
			if rng.IntN(4) == 0 { // the digits that TIME cuts off are all that is unknown
				there = 0
			}
			reading, ahead := r.read(there, back)
			if d := add1(t, m, reading); d != nil {
				t.Fatalf("seed %d, reading %d: a clock within %+v at rate %v: %v", seed, i, policy, r.rate, d)
			}
			if s, ok := m.Offset(); !ok || ahead < s.Low || ahead > s.High {
				t.Fatalf("seed %d, reading %d: the clock is %v ahead, reported %v to %v (%v)", seed, i, ahead, s.Low, s.High, ok)
			}
		}
	}
}

func TestAStepIsReportedOnce(t *testing.T) {
	for _, test := range []struct {
		step time.Duration
		want string
	}{
		{time.Minute, "stepped forward by 1m0s ± 15ms within 10.03s (102.3ms allowed)"},
		{-time.Hour, "stepped back by 1h0m0s ± 15ms within 10.03s (102.3ms allowed)"},
		{1200 * time.Millisecond, "stepped forward by 1.206s ± 15ms within 10.03s (102.3ms allowed)"},
	} {
		r := newRemote(time.Second, 0)
		m := NewMeter(Default)
		for i := range 10 {
			reading, _ := r.read(4*time.Millisecond, time.Millisecond)
			if d := add1(t, m, reading); d != nil {
				t.Fatalf("before the step, reading %d: %v", i, d)
			}
			r.ours.Advance(10 * time.Second)
		}
		r.ahead += test.step
		for i := range 5 {
			reading, ahead := r.read(20*time.Millisecond, 5*time.Millisecond)
			d := add1(t, m, reading)
			if (d != nil) != (i == 0) {
				t.Fatalf("reading %d after a step by %v: %v", i, test.step, d)
			}
			if d != nil && (!d.Step || d.By.Low > test.step || d.By.High < test.step) {
				t.Errorf("a step by %v is reported as %+v", test.step, d)
			}
			if d != nil && d.String() != test.want {
				t.Errorf("a step by %v reads %q: want %q", test.step, d, test.want)
			}
			if s, _ := m.Offset(); ahead < s.Low || ahead > s.High {
				t.Errorf("after a step the clock is %v ahead, reported %v", ahead, s)
			}
			r.ours.Advance(10 * time.Second)
		}
	}
}

func TestARateBeyondThePolicyIsReported(t *testing.T) {
	for _, rate := range []float64{0.02, -0.02, 0.05, -0.08} {
		r := newRemote(0, 0)
		m := NewMeter(Default)
		for range 10 {
			reading, _ := r.read(0, 10*time.Millisecond)
			add1(t, m, reading)
			r.ours.Advance(time.Second)
		}
		r.set(rate)
		var found []*Deviation
		for range 60 {
			reading, _ := r.read(0, 10*time.Millisecond)
			if d := add1(t, m, reading); d != nil {
				found = append(found, d)
			}
			r.ours.Advance(time.Second)
		}
		if len(found) < 2 {
			t.Fatalf("rate %v: %d reports in a minute, want it to be repeated", rate, len(found))
		}
		way := map[bool]string{true: "ran fast", false: "ran slow"}[rate > 0]
		for _, d := range found {
			if d.Step || !strings.HasPrefix(d.String(), way) {
				t.Errorf("rate %v is reported as %v", rate, d)
			}
		}
	}
}

func TestWhatIsNoReadingIsRefusedAndChangesNothing(t *testing.T) {
	r := newRemote(time.Minute, 0)
	good, _ := r.read(time.Millisecond, time.Millisecond)
	r.ours.Advance(time.Second)
	next, _ := r.read(time.Millisecond, time.Millisecond)
	for what, bad := range map[string]Reading{
		"no Sent":     {Received: next.Received, Time: next.Time},
		"no Received": {Sent: next.Sent, Time: next.Time},
		"no Time":     {Sent: next.Sent, Received: next.Received},
		"swapped":     {Sent: next.Received, Received: next.Sent, Time: next.Time},
	} {
		m := NewMeter(Default)
		if _, err := m.Add(bad); err == nil || !strings.HasPrefix(err.Error(), "drift: Reading") {
			t.Errorf("%s: %v", what, err)
		}
		if _, ok := m.Offset(); ok {
			t.Errorf("%s: it counts", what)
		}
		add1(t, m, good)
		if _, err := m.Add(bad); err == nil {
			t.Errorf("%s: accepted after a good one", what)
		}
		if m.last != good {
			t.Errorf("%s: it took the place of a good one", what)
		}
	}
	m := NewMeter(Default)
	add1(t, m, next)
	if d := add1(t, m, good); d != nil || m.last != next {
		t.Errorf("an older reading counts: %v", d)
	}
}

func TestAnOffsetOfNothingIsEverything(t *testing.T) {
	if s := (Reading{Time: time.Now()}).Offset(); s.Beyond(time.Hour) || s.Low > -1000*time.Hour || s.High < 1000*time.Hour {
		t.Errorf("%v to %v", s.Low, s.High)
	}
}

func TestSpan(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		span   Span
		limit  time.Duration
		beyond bool
		text   string
	}{
		{Span{-ms, ms}, 0, false, "0s ± 1ms"},
		{Span{500 * ms, 510 * ms}, 500 * ms, false, "505ms ± 5ms"},
		{Span{500*ms + 1, 510 * ms}, 500 * ms, true, "505ms ± 5ms"},
		{Span{-510 * ms, -500 * ms}, 500 * ms, false, "-505ms ± 5ms"},
		{Span{-510 * ms, -500*ms - 1}, 500 * ms, true, "-505ms ± 5ms"},
		{Span{-longestSpan, longestSpan}, longestSpan - 1, false, fmt.Sprintf("0s ± %v", rounded(longestSpan))},
	} {
		if got := test.span.Beyond(test.limit); got != test.beyond {
			t.Errorf("%+v.Beyond(%v) is %v", test.span, test.limit, got)
		}
		if got := test.span.String(); got != test.text {
			t.Errorf("%+v reads %q: want %q", test.span, got, test.text)
		}
	}
}

func TestMonotonicSubCountsWhatHasPassedForSure(t *testing.T) {
	f := NewFake(time.Unix(0, 0))
	start := f.Now()
	f.Advance(time.Second)
	f.StepWall(time.Hour)
	f.Suspend(time.Minute)
	if got := f.Now().MonotonicSub(start); got != time.Second {
		t.Errorf("%v passed, want 1s", got)
	}
	if got := start.MonotonicSub(f.Now()); got != 0 {
		t.Errorf("%v passed backwards", got)
	}
	if got := f.Now().MonotonicSub(Instant{}) + (Instant{}).MonotonicSub(f.Now()); got != 0 {
		t.Errorf("%v passed since no reading", got)
	}
}
