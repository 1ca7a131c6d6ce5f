package faults

import (
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A trouble is a fault of a master, and how it ends.
type trouble struct {
	name       string
	begin, end func(i int) error
	clock      bool // sets the master's clock
}

func nothing(int) error { return nil }

// replicaOf is the trouble that makes a master a replica of another. It troubles the other as
// well.
const replicaOf = "REPLICAOF"

// masterTroubles returns the troubles that these masters can have. The master whole has none.
func (s *soak) masterTroubles(whole int) []trouble {
	command := func(cmd string, args ...any) func(i int) error {
		return func(i int) error { _, err := s.m.Do(i, cmd, args...); return err }
	}
	on := func(i int) func(cmd string, args ...any) (any, error) {
		return func(cmd string, args ...any) (any, error) { return s.m.Do(i, cmd, args...) }
	}
	healed := func(i int) error { return s.m.Heal(i) }
	restarted := func(keepData bool) func(i int) error {
		return func(i int) error { return s.m.Restart(keepData, i) }
	}
	killed := func(i int) error { return s.m.Kill(i) }
	before := map[int]map[string]bool{} // the connections that are lost
	late := time.Duration(s.random.IntN(2000)) * time.Millisecond
	all := []trouble{
		{name: "kill and restart", begin: killed, end: restarted(true)},
		{name: "CLIENT PAUSE", begin: func(i int) error { return redistest.PauseWrites(on(i), time.Second) }, end: func(i int) error { return redistest.ResumeWrites(on(i)) }},
		{name: "CLIENT KILL", begin: command("CLIENT", "KILL", "TYPE", "NORMAL"), end: nothing},
		{name: "SCRIPT FLUSH", begin: command("SCRIPT", "FLUSH"), end: nothing},
		{name: "freeze", begin: func(i int) error { return s.m.Freeze(i) }, end: func(i int) error { return s.m.Thaw(i) }},
		{name: "cut off", begin: func(i int) error { return s.m.Cut(i) }, end: healed},
		{name: "kill and restart empty", begin: killed, end: restarted(false)},
		{name: "FLUSHALL", begin: command("FLUSHALL"), end: nothing},
		{name: replicaOf, begin: func(i int) error { return s.replicate(i, whole) }, end: s.independent},
		{name: "replies cut off", begin: func(i int) error { return s.m.CutReplies(i) }, end: healed},
		{name: "half-open", begin: func(i int) error {
			before[i] = s.connections(i)
			return s.m.HalfOpen(i)
		}, end: func(i int) error {
			// Until then the fault goes on for clients that have not noticed.
			s.awaitReplaced(i, before[i])
			return nil
		}},
		{name: "slow", begin: func(i int) error { return s.m.slow(late, i) }, end: func(i int) error {
			defer time.Sleep(late) // what is under way is still late
			return s.m.Heal(i)
		}},
	}
	if s.clocked {
		all = append(all,
			trouble{name: "clock set", clock: true, begin: func(i int) error { return s.setClocks(s.offset(), i) }, end: func(i int) error { return s.setClocks(0, i) }},
			trouble{name: "clock jumps and is set back", clock: true, begin: func(i int) error {
				if err := s.setClocks(s.offset(), i); err != nil {
					return err
				}
				time.Sleep(300 * time.Millisecond) // the jump is that long
				return s.setClocks(0, i)
			}, end: nothing})
	}
	return all
}

// awaitReplaced waits until every client that lives has a connection to a
// master that it did not have before.
func (r *run) awaitReplaced(i int, before map[string]bool) {
	r.Helper()
	for deadline := time.Now().Add(settleBound); ; time.Sleep(lookEvery) {
		alive, fresh := 0, 0
		for _, c := range r.children {
			if !c.Over {
				alive++
			}
		}
		for id := range r.connections(i) {
			if !before[id] {
				fresh++
			}
		}
		if fresh >= alive {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d of %d clients have replaced their connections to master %d within %v", fresh, alive, i, settleBound)
		}
	}
}

// offset is by how much a clock is set, up to an hour either way: far more than
// strict clients accept, and less than the lease records last.
func (s *soak) offset() time.Duration {
	by := 2*time.Second + time.Duration(s.random.Int64N(int64(time.Hour)))
	if s.random.IntN(2) == 0 {
		return -by
	}
	return by
}

// replicate makes a master a replica of another. It gets the other's data, with copies of queues
// that nobody leaves.
func (s *soak) replicate(i, of int) error {
	s.queues = true
	u, err := url.Parse(s.m.URLs()[of])
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		return err
	}
	_, err = s.m.Do(i, "REPLICAOF", host, port)
	return err
}

// independent makes a replica a master again, which it refuses while it loads the
// data of the other.
func (s *soak) independent(i int) error {
	for deadline := time.Now().Add(settleBound); ; time.Sleep(lookEvery) {
		_, err := s.m.Do(i, "REPLICAOF", "NO", "ONE")
		if err == nil || !strings.Contains(err.Error(), "LOADING") || time.Now().After(deadline) {
			return err
		}
	}
}

// troubleAClient freezes or kills a client, or sets its clock, now and then. It returns a function
// that puts things right. It sets clients' clocks only if no master's clock is set: no client can
// notice that all jump together.
func (s *soak) troubleAClient(clocks bool) (end func() error) {
	if s.random.IntN(3) != 0 {
		return func() error { return nil }
	}
	var alive []*child
	for _, c := range s.children {
		if !c.Over {
			alive = append(alive, c)
		}
	}
	c := alive[s.random.IntN(len(alive))]
	kinds := 2
	if s.level == levelStrict && !clocks {
		kinds++
	}
	s.patient = c.number
	switch s.random.IntN(kinds) {
	case 0:
		s.faults["client killed"]++
		s.queues = true
		s.must(c.Kill())
		return func() error { s.another(); return nil }
	case 1:
		s.faults["client frozen"]++
		s.must(c.freeze())
		s.specs[c.number].Idle = true
		return func() error { s.specs[c.number].Idle = false; return c.Thaw() }
	default:
		s.faults["client's clock set"]++
		s.specs[c.number].Idle = true
		s.must(c.Order(order{Do: "step", Clock: s.offset()}))
		return func() error {
			s.specs[c.number].Idle = false
			return c.Order(order{Do: "step"})
		}
	}
}
