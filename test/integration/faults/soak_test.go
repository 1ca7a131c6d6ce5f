package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

const (
	soakTTL     = 1500 * time.Millisecond
	soakDefault = 12 * time.Second
	soakClients = 3
	// soakKeeps is how long holds that have ended are compared with later ones:
	// longer than any client is frozen.
	soakKeeps = time.Minute
)

// TestSoak mixes the faults at random over all kinds of locks, for as long as REDQUORUM_SOAK says.
// It has two legs of equal length, each with a fleet of its own and one level of the guard: clocks
// may be set only if clients are strict. A seed repeats the choice of the faults, but not what the
// machine makes of them.
func TestSoak(t *testing.T) {
	length, seed := soakOrder(t)
	if err := canStart(soakSetup()); err != nil && requireRedis {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	total := newTally()
	soakSays(t, "seed %d, for %v: %d clients on five masters", seed, length, soakClients)
	for i, level := range []string{levelStandard, levelStrict} {
		t.Run(level, func(t *testing.T) {
			s := &soak{
				run:    &run{T: t, level: level},
				random: rand.New(rand.NewPCG(seed, uint64(i))),
				tally:  newTally(),
			}
			defer func() {
				if t.Failed() { // it may have ended without a count
					s.violations = max(s.violations, 1)
				}
				total.add(s.tally)
			}()
			s.leg(length / 2)
		})
	}
	soakSays(t, "at the end: %s; violations: %d", total, total.violations)
	if total.violations > 0 {
		t.Errorf("%d violations, with seed %d", total.violations, seed)
	}
}

// soakOrder returns how long the soak is to last, and its seed.
func soakOrder(t *testing.T) (length time.Duration, seed uint64) {
	t.Helper()
	length, seed = soakDefault, rand.Uint64()
	if text := os.Getenv("REDQUORUM_SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("REDQUORUM_SOAK: %v", err)
		}
	}
	if text := os.Getenv("REDQUORUM_SOAK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("REDQUORUM_SOAK_SEED: %v", err)
		}
	}
	return length, seed
}

// soakSetup returns what the masters of a leg must be able to do.
func soakSetup() setup {
	return setup{lines: true, config: redistest.Config{
		AppendOnly: redistest.AppendAlways, MovableClock: redistest.ClockAvailable() == nil,
	}}
}

// soakSays prints the progress of a long run; short ones show it with -v.
func soakSays(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("REDQUORUM_SOAK") != "" {
		fmt.Printf("soak: "+format+"\n", args...)
		return
	}
	t.Logf(format, args...)
}

// A soak is a run in which one round of faults follows the other.
type soak struct {
	*run
	*tally
	random  *rand.Rand
	clocked bool // masters' clocks can be set
	patient int  // the client with a fault in this round, -1: none
}

// leg runs for length, and then checks what must hold in every row.
func (s *soak) leg(length time.Duration) {
	how := soakSetup()
	s.must(s.start(how))
	s.clocked = how.config.MovableClock && s.level == levelStrict
	if err := redistest.ClockAvailable(); err != nil && s.level == levelStrict {
		s.say("without masters' clocks set: %v", err)
	}
	defer func() { s.settle(s.history, len(s.standstills)) }()
	for range soakClients {
		s.another()
	}
	s.awaitUsable() // a new fleet of strict clients is in quarantine
	s.progress(now(), 3)
	began := now()
	for deadline := began.add(length); now() < deadline && !s.Failed(); {
		s.round()
		s.settle(s.history, len(s.standstills))
		s.say("%v: %s", now().sub(began).Round(time.Second), s.tally)
	}
	s.litter = soakTTL + settleBound/4 // a slow line may still deliver
	s.finish()
}

func (s *soak) say(format string, args ...any) {
	s.Helper()
	soakSays(s.T, s.level+": "+format, args...)
}

// another starts one more client, with every kind of lock.
func (s *soak) another() {
	n := len(s.children)
	s.client(spec{
		Seed: s.random.Uint64(), TTL: soakTTL, Level: s.level, URLs: s.m.URLs(), Register: s.register.listener.Addr().String(),
		Fencing: true, Movable: true,
		Workers: []worker{
			{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:0", n)}, Pace: 20 * time.Millisecond},
			{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:1", n)}, Pace: 30 * time.Millisecond, Plain: true},
			{Do: doHold, Keys: []string{fmt.Sprintf("held:%d", n)}, Pace: 50 * time.Millisecond, Hold: time.Hour},
			{Do: doHot, Keys: []string{"hot:0", "hot:1"}, Pace: 10 * time.Millisecond, Hold: time.Millisecond},
			{Do: doFair, Keys: []string{"fair"}, Pace: 30 * time.Millisecond, Hold: time.Millisecond},
			{Do: doDo, Keys: []string{"do:0", "do:1"}, Pace: 30 * time.Millisecond, Hold: time.Millisecond},
			{Do: doRead, Keys: []string{"rw"}, Pace: 30 * time.Millisecond, Hold: 2 * time.Millisecond},
			{Do: doWrite, Keys: []string{"rw"}, Pace: 100 * time.Millisecond, Hold: time.Millisecond},
			{Do: doAll, Keys: []string{"set:0", "set:1", "set:2"}, Pace: 50 * time.Millisecond},
			{Do: doAny, Keys: []string{"slot:0", "slot:1"}, Pace: 50 * time.Millisecond, Hold: 5 * time.Millisecond},
		},
	})
}

// round makes faults at one or two masters, rarely at three, and sometimes at a client. It checks
// how the others go on, and ends the faults.
func (s *soak) round() {
	s.rounds++
	count := 1 + s.random.IntN(2)
	if s.random.IntN(6) == 0 {
		count = 3
		s.outages++
	}
	which := s.random.Perm(len(s.m.URLs()))
	whole := which[len(which)-1]
	which = which[:count]
	kinds := s.masterTroubles(whole)
	var made []trouble
	s.healAt, s.patient = 0, -1
	clear(s.troubled)
	s.fault(func() error {
		for _, i := range which {
			made = append(made, kinds[s.random.IntN(len(kinds))])
			if err := made[len(made)-1].begin(i); err != nil {
				return fmt.Errorf("%s: %w", made[len(made)-1].name, err)
			}
		}
		return nil
	}, which...)
	disturbed := count
	if slices.ContainsFunc(made, func(k trouble) bool { return k.name == replicaOf }) {
		// A master whose first replica attaches begins another history. That looks like a loss of
		// its data, so it loses its vote, too (docs/explanation/guard.md).
		if disturbed++; disturbed == 3 {
			s.outages++
		}
	}
	clocks := false
	for _, k := range made {
		s.faults[k.name]++
		clocks = clocks || k.clock
	}
	end := s.troubleAClient(clocks)
	if disturbed < 3 {
		s.progress(s.faultIn, 5)
	}
	time.Sleep(time.Duration(s.random.Int64N(int64(2 * soakTTL)))) // how long the faults last
	s.heal(func() error {
		if err := end(); err != nil { // first, because a frozen client notices nothing
			return err
		}
		for n, k := range made {
			if err := k.end(which[n]); err != nil {
				return fmt.Errorf("end of %s: %w", k.name, err)
			}
		}
		return nil
	})
	s.healed = 0
	s.recovers(true)
	s.recovered(s.healed)
	s.check(disturbed < 3)
	s.history.prune(now().add(-soakKeeps), s.healAt)
}

// check looks for violations in what happened since the last round.
func (s *soak) check(minority bool) {
	s.Helper()
	violation := func(format string, args ...any) {
		s.Helper()
		s.violations++
		s.Errorf("violation: "+format, args...)
	}
	for _, o := range s.history.overlaps() {
		violation("two holders at a time: %s", o)
	}
	for _, f := range s.history.fallen() {
		violation("fencing tokens do not rise: %s", f)
	}
	if lost, writes := s.register.lost(); lost != 0 {
		violation("%d of %d updates are lost", lost, writes)
	}
	for _, d := range s.late() {
		violation("client %d: %s took %v (%s)", d.client, d.Op, d.took(), d.Failed)
	}
	for _, d := range s.during() {
		if d.client == s.patient {
			continue // it may have been stopped in the middle of it
		}
		s.longest = max(s.longest, d.took())
		if minority && d.Failed != "" {
			violation("client %d: %s failed though a quorum was left, %v after the fault: %s", d.client, d.Op, d.At.sub(s.faultAt), d.Text)
		}
	}
}

// prune forgets operations that began before ops, and holds that ended before holds.
func (h *history) prune(holds, ops instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, hold := range h.holds {
		if hold.end() < holds {
			delete(h.holds, name)
		}
	}
	h.ops = slices.DeleteFunc(h.ops, func(d done) bool { return d.At < ops })
	for by, began := range h.good {
		first, _ := slices.BinarySearch(began, ops)
		h.good[by] = slices.Clone(began[first:])
	}
	h.slow = slices.DeleteFunc(h.slow, func(p slow) bool { return p.to < ops })
	h.changes = slices.DeleteFunc(h.changes, func(c change) bool { return c.at < ops })
}
