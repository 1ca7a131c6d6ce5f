package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

const (
	soakTTL     = 1500 * time.Millisecond
	soakDefault = 10 * time.Second
	soakClients = 3
	// soakKeeps is how long holds that have ended are compared with later ones:
	// longer than any client is frozen.
	soakKeeps = time.Minute
)

// TestSoak mixes the faults at random over all kinds of locks, for as long as
// REDQUORUM_SOAK says. A seed repeats the choice of the faults; what the
// machine makes of them it cannot repeat.
func TestSoak(t *testing.T) {
	length, seed := soakDefault, rand.Uint64()
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
	s := &soak{
		run:    &run{T: t, on: processes},
		random: rand.New(rand.NewPCG(seed, 0)),
		faults: map[string]int{},
	}
	err := s.start(setup{lines: true, config: redistest.Config{AppendOnly: redistest.AppendAlways}})
	if cannot, ok := err.(*unable); ok && !requireRedis { //nolint:errorlint // start returns it as it is
		t.Skip(cannot)
	}
	s.must(err)
	s.say("seed %d, for %v: %d clients on five masters", seed, length, soakClients)
	for range soakClients {
		s.another()
	}
	s.progress(now(), 3)
	began := now()
	for deadline := began.add(length); now() < deadline && !t.Failed(); {
		s.round()
		s.say("%v: %s", now().sub(began).Round(time.Second), s.report())
	}
	s.litter = soakTTL + settleBound/4 // a slow line may still deliver
	s.finish()
	s.say("at the end: %s; violations: %d", s.report(), s.violations)
	if s.violations > 0 {
		t.Errorf("%d violations, with seed %d", s.violations, seed)
	}
}

// A soak is a run in which one round of faults follows the other.
type soak struct {
	*run
	random     *rand.Rand
	faults     map[string]int // by kind
	rounds     int
	outages    int
	slowest    time.Duration // recovery
	violations int
}

// say shows what a long run is at; short ones show it with -v.
func (s *soak) say(format string, args ...any) {
	if os.Getenv("REDQUORUM_SOAK") != "" {
		fmt.Printf("soak: "+format+"\n", args...)
		return
	}
	s.Logf(format, args...)
}

func (s *soak) report() string {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	all := 0
	var ops []string
	for _, op := range []string{opLock, opWait, opExtend, opUnlock} {
		all += s.history.total[op]
		ops = append(ops, fmt.Sprintf("%s %d", op, s.history.total[op]))
	}
	var faults []string
	for name, n := range s.faults {
		faults = append(faults, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(faults)
	return fmt.Sprintf("%d operations (%s), %d rounds of faults, %d of them outages (%s); worst latency %s, slowest recovery %s; excused, since the machine stood still: %d",
		all, strings.Join(ops, ", "), s.rounds, s.outages, strings.Join(faults, ", "), shown(s.worst), shown(s.slowest), len(s.standstills))
}

// another starts one more client, with every kind of lock.
func (s *soak) another() {
	n := len(s.children)
	s.client(spec{
		Seed: s.random.Uint64(), TTL: soakTTL, URLs: s.m.urls(), Register: s.register.listener.Addr().String(), Fencing: fencing(),
		Workers: []worker{
			{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:0", n)}, Pace: 20 * time.Millisecond},
			{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:1", n)}, Pace: 30 * time.Millisecond},
			{Do: doHold, Keys: []string{fmt.Sprintf("held:%d", n)}, Pace: 50 * time.Millisecond, Hold: time.Hour},
			{Do: doHot, Keys: []string{"hot:0", "hot:1"}, Pace: 10 * time.Millisecond, Hold: time.Millisecond},
			{Do: doRead, Keys: []string{"rw"}, Pace: 30 * time.Millisecond, Hold: 2 * time.Millisecond},
			{Do: doWrite, Keys: []string{"rw"}, Pace: 100 * time.Millisecond},
			{Do: doAll, Keys: []string{"set:0", "set:1", "set:2"}, Pace: 50 * time.Millisecond},
			{Do: doAny, Keys: []string{"slot:0", "slot:1"}, Pace: 50 * time.Millisecond, Hold: 5 * time.Millisecond},
		},
	})
}

// A trouble is what is done to a master or a client, and how it ends.
type trouble struct {
	name       string
	begin, end func(i int) error
}

func nothing(int) error { return nil }

func (s *soak) masterTroubles() []trouble {
	keepData := func(int) bool { return !guarded() || s.random.IntN(2) == 0 }
	flush := "FLUSHALL"
	if !guarded() {
		flush = "PING" // nothing would keep masters that have forgotten from voting
	}
	late := time.Duration(s.random.IntN(2000)) * time.Millisecond
	return []trouble{
		{"kill", func(i int) error { return s.m.kill(i) }, func(i int) error { return s.m.restart(keepData(i), i) }},
		{"freeze", func(i int) error { return s.m.freeze(i) }, func(i int) error { return s.m.thaw(i) }},
		{"cut off", func(i int) error { return s.m.cut(i) }, func(i int) error { return s.m.heal(i) }},
		{"replies cut off", func(i int) error { return s.m.cutReplies(i) }, func(i int) error { return s.m.heal(i) }},
		{"slow", func(i int) error { return s.m.slow(late, i) }, func(i int) error {
			defer time.Sleep(late) // what is on its way goes on to be late
			return s.m.heal(i)
		}},
		{"half-open", func(i int) error { return s.m.halfOpen(i) }, nothing},
		{"CLIENT PAUSE", func(i int) error { _, err := s.m.do(i, "CLIENT", "PAUSE", 1000, "WRITE"); return err }, nothing},
		{"SCRIPT FLUSH", func(i int) error { _, err := s.m.do(i, "SCRIPT", "FLUSH"); return err }, nothing},
		{flush, func(i int) error { _, err := s.m.do(i, flush); return err }, nothing},
		{"CLIENT KILL", func(i int) error { _, err := s.m.do(i, "CLIENT", "KILL", "TYPE", "NORMAL"); return err }, nothing},
	}
}

// round makes trouble for one or two masters, rarely for three, and sometimes
// for a client; looks how the others fare; and ends it.
func (s *soak) round() {
	s.rounds++
	count := 1 + s.random.IntN(2)
	if s.random.IntN(6) == 0 {
		count = 3
		s.outages++
	}
	kinds := s.masterTroubles()
	which := s.random.Perm(len(s.m.urls()))[:count]
	var made []trouble
	s.healAt = 0
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
	for _, k := range made {
		s.faults[k.name]++
	}
	alone := s.troubleAClient()
	if count < 3 {
		s.progress(s.faultIn, 5)
	}
	time.Sleep(time.Duration(s.random.Int64N(int64(2 * soakTTL)))) // how long the faults last
	s.heal(func() error {
		for n, k := range made {
			if err := k.end(which[n]); err != nil {
				return fmt.Errorf("end of %s: %w", k.name, err)
			}
		}
		return alone.end(0)
	})
	s.healed = 0
	s.recovers(true)
	s.slowest = max(s.slowest, s.healed)
	s.check(count < 3, alone.name)
	s.history.prune(now().add(-soakKeeps), s.healAt)
}

// troubleAClient freezes or kills one, now and then. The end of it puts things
// right.
func (s *soak) troubleAClient() trouble {
	none := trouble{"", nothing, nothing}
	if s.random.IntN(4) != 0 {
		return none
	}
	var alive []*child
	for _, c := range s.children {
		if !c.waited {
			alive = append(alive, c)
		}
	}
	c := alive[s.random.IntN(len(alive))]
	if s.random.IntN(2) == 0 {
		s.faults["client killed"]++
		s.crashed = true
		s.must(c.kill())
		return trouble{"kill", nothing, func(int) error { s.another(); return nil }}
	}
	if !fencing() { // who is frozen between a look and its deed writes later
		return none
	}
	s.faults["client frozen"]++
	s.must(c.freeze())
	s.specs[c.number].Idle = true
	return trouble{"freeze", nothing, func(int) error { s.specs[c.number].Idle = false; return c.thaw() }}
}

// check looks for violations in what happened since the last round.
func (s *soak) check(minority bool, client string) {
	s.Helper()
	for _, found := range [][]string{s.history.overlaps(), s.history.fallen()} {
		for _, f := range found {
			s.violations++
			s.Errorf("violation: %s", f)
		}
	}
	if lost, writes := s.register.lost(); lost != 0 {
		s.violations++
		s.Errorf("violation: %d of %d updates are lost", lost, writes)
	}
	for _, d := range s.during() {
		if client != "" {
			continue // it may have been stopped in the middle of it
		}
		s.worst = max(s.worst, d.took())
		if d.took() > commandTimeout+lateness {
			s.violations++
			s.Errorf("violation: client %d: %s took %v (%s)", d.client, d.Op, d.took(), d.Failed)
		}
		if minority && d.Failed != "" {
			s.violations++
			s.Errorf("violation: client %d: %s failed though a quorum was left, %v after the fault: %s", d.client, d.Op, d.At.sub(s.faultAt), d.Text)
		}
	}
}

// prune forgets operations that began before ops, and holds that ended before
// holds.
func (h *history) prune(holds, ops instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, hold := range h.holds {
		if hold.end() < holds {
			delete(h.holds, name)
		}
	}
	h.ops = slices.DeleteFunc(h.ops, func(d done) bool { return d.At < ops })
	for who, began := range h.good {
		first, _ := slices.BinarySearch(began, ops)
		h.good[who] = slices.Clone(began[first:])
	}
	h.slow = slices.DeleteFunc(h.slow, func(p slow) bool { return p.to < ops })
	h.changes = slices.DeleteFunc(h.changes, func(c change) bool { return c.at < ops })
}
