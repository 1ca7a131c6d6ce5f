package stage

import (
	"context"
	"errors"
	"time"
)

// faultBound is how long doing one thing to one master may take.
const faultBound = 20 * time.Second

// A Condition is what has been done to a master.
type Condition struct {
	down, starting bool
	Frozen, Cut    bool
	Offset         time.Duration // of its clock
}

func (c Condition) String() string {
	switch {
	case c.starting:
		return "starting"
	case c.down:
		return "killed"
	case c.Frozen:
		return "frozen"
	case c.Cut:
		return "cut off"
	default:
		return "up"
	}
}

// Condition is that of a master.
func (s *Stage) Condition(n int) Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conditions[n]
}

func (s *Stage) change(n int, f func(*Condition)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.conditions[n])
}

// Do does a fault to one master of ours, and says what was done to it. It takes no longer than faultBound.
func (s *Stage) Do(ctx context.Context, f Fault, n int) (did string, err error) {
	bounded, cancel := context.WithTimeout(ctx, faultBound)
	defer cancel()
	master, change := s.Cluster.Masters[n], func(*Condition) {}
	switch f.Action {
	case Kill:
		err = master.Kill()
		change = func(c *Condition) { c.down, c.Frozen = true, false }
	case Restart, Empty:
		s.change(n, func(c *Condition) { c.starting = true })
		err = master.Restart(bounded, f.Action == Restart)
		change = func(c *Condition) { c.down, c.Frozen = false, false }
		defer s.change(n, func(c *Condition) { c.starting = false })
	case Freeze, Thaw:
		if s.Condition(n).down {
			return "", errors.New("it is not running")
		}
		if f.Action == Freeze {
			err = master.Freeze()
		} else {
			err = master.Thaw()
		}
		change = func(c *Condition) { c.Frozen = f.Action == Freeze }
	case Cut:
		s.network.links[n].cut()
		change = func(c *Condition) { c.Cut = true }
	case Heal:
		s.network.links[n].heal()
		change = func(c *Condition) { c.Cut = false }
	case Skew:
		if s.Cluster.Kind != KindEmbedded {
			return "", errors.New("the clock of a process is the machine's")
		}
		err = master.SetClock(f.Offset)
		change = func(c *Condition) { c.Offset = f.Offset }
	}
	if err != nil {
		return "", err
	}
	s.change(n, change)
	return f.did(n), nil
}
