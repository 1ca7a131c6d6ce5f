package redlock_test

import (
	"testing"
	"time"
)

// Package internal/quorum chooses the pilot. These tests check what a client reports to it.

// Until a silent pilot has answered, waiters wait at another master, long before the connection
// counts as stalled.
func TestASilentPilotIsPassedOverUntilItAnswers(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		queue := queueKey("key")
		pilot := s.pilotOf("key")
		held := mustLock(t, s.open(), "key")
		q := s.queue(s.open(), "key")
		if got := s.queuesBeside(pilot, queue); got != 0 {
			t.Fatalf("%d masters beside the pilot have the queue", got)
		}
		s.All[pilot].Freeze()
		time.Sleep(600 * time.Millisecond)
		if got := s.queuesBeside(pilot, queue); got != 1 {
			t.Errorf("the pilot is silent, and %d masters have the queue: want another one to", got)
		}
		s.All[pilot].Thaw()
		settle()
		s.Ask(pilot, "DEL", queue) // remove what is there from before
		time.Sleep(time.Second)
		if got := s.members(pilot, queue); len(got) != 1 {
			t.Errorf("the pilot has answered, and in its queue are %q", got)
		}
		unlock(t, held)
		unlock(t, q.mustHave(t))
	})
}

func TestAMasterThatMayNotVoteIsNoPilot(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		queue := queueKey("key")
		c := s.guarded()
		unlock(t, mustLock(t, c, "other")) // all are declared
		held := mustLock(t, c, "key")
		q := s.queue(s.guarded(), "key")
		pilot := s.pilot("key")
		unlock(t, held)
		held = q.mustHave(t)
		s.All[pilot].FlushAll()
		unlock(t, mustLock(t, c, "other"))                    // here the client learns of it
		s.Ask(pilot, "SET", "key", "another's", "PX", 60_000) // a free key would be acquired at once
		q = s.queue(c, "key")
		if here, others := s.members(pilot, queue), s.queuesBeside(pilot, queue); len(here) != 0 || others != 1 {
			t.Errorf("in the queue of the master that may not vote are %q, and %d others have one", here, others)
		}
		unlock(t, held)
		unlock(t, q.mustHave(t))
	})
}
