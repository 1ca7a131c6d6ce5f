package redlock_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// The same happens with a wrong entry in the list: another Redis that no client has used.
func TestAdoptionOfAMasterIntoAVotingFleetIsLogged(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		right := s.openAt(s.URLs()[:3])
		if err := right.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := new(logBuffer)
		wrong := s.openAt([]string{s.URLs()[0], s.URLs()[1], s.URLs()[3]}, redlock.WithOwner("somebody"),
			redlock.WithLogger(log.logger()))
		time.Sleep(20 * time.Second)
		_ = wrong.Close()
		synctest.Wait()
		if n := strings.Count(log.String(), "taken into a fleet that votes"); n != 1 || !strings.Contains(log.String(), s.All[3].Addr()) {
			t.Errorf("told %d times:\n%s", n, log.String())
		}
		if by := s.All[3].Field(guard.Key, "by"); by != "somebody" {
			t.Errorf("its marker says that %q has adopted it", by)
		}
	})
}

func TestAdoptionAtTheFirstStartOfAFleetIsNotLoggedAsVoting(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		s.Kill(2)
		log := new(logBuffer)
		c := s.openAt(s.URLs(), redlock.WithLogger(log.logger()))
		time.Sleep(20 * time.Second)
		_ = c.Close()
		synctest.Wait()
		if s.All[0].Field(guard.Key, "how") != guard.HowAdopted || strings.Contains(log.String(), "taken into a fleet that votes") {
			t.Errorf("master 0 is %q; told:\n%s", s.All[0].Field(guard.Key, "how"), log.String())
		}
	})
}
