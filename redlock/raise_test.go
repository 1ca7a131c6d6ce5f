package redlock_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
)

// A raisedClock leaps a minute as soon as its client has begun a second round.
type raisedClock struct {
	client atomic.Pointer[redlock.Client]
}

func (c *raisedClock) Now() drift.Instant {
	now := time.Now()
	if client := c.client.Load(); client != nil && client.Stats().FencingRaises > 0 {
		now = now.Add(time.Minute)
	}
	return drift.AtWithoutBoot(now.Sub(time.Unix(0, 0)), now)
}

func TestALockWhoseSecondRoundOutlastsItsValidityIsRolledBack(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		clock := &raisedClock{}
		c := s.open(redlock.WithClock(clock), redlock.WithFencing())
		clock.client.Store(c)
		s.spread("key")
		_, err := c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrNoQuorum)
		if err == nil || !strings.Contains(err.Error(), "no validity is left") {
			t.Error(err)
		}
		s.wantNoLocks()
	})
}

// The fences that are to be raised have given more since.
func TestASecondRoundThatComesTooLateIsAFailure(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithFencing(), redlock.WithTrace(&redlock.Trace{Node: func(n redlock.NodeInfo) {
			if n.Err == nil { // the first round is decided: what it gave is overtaken
				s.setFence(uint64(time.Now().Add(2*time.Hour).UnixMicro()), "key", 0, 1, 2)
			}
		}}))
		s.spread("key")
		_, err := c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		if err == nil || !strings.Contains(err.Error(), "the fencing token could not be stored at a quorum") {
			t.Error(err)
		}
		s.wantNoLocks()
	})
}
