package redlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// The masters have given higher fences since the first round.
func TestASecondRoundThatComesTooLateIsAFailure(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithFencing(), redlock.WithTrace(&redlock.Trace{Node: func(n redlock.NodeInfo) {
			if n.Err == nil { // the first round is decided: higher fences overtake its token
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
