package redlock_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Markers do not distinguish lists of the same length. The client logs it once, and all vote.
func TestAnotherMasterListOfTheSameLengthIsLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		urls   func(all []string) []string
		logged int
	}{
		"the same":       {func(all []string) []string { return all[:3] }, 0},
		"in other order": {func(all []string) []string { return []string{all[2], all[0], all[1]} }, 0},
		"another master": {func(all []string) []string { return []string{all[0], all[1], all[3]} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 4, func(t *testing.T, s *sim) {
				first := s.openAt(s.URLs()[:3])
				if err := first.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				var log strings.Builder
				second := s.openAt(test.urls(s.URLs()), redlock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				time.Sleep(20 * time.Second)
				for _, c := range []*redlock.Client{first, second} {
					for i, r := range c.Masters()[:2] {
						if !r.Votes {
							t.Errorf("master %d: %+v", i, r)
						}
					}
				}
				_ = second.Close()
				synctest.Wait()
				if n := strings.Count(log.String(), "a client with another list of masters"); n != test.logged {
					t.Errorf("told %d times, want %d:\n%s", n, test.logged, log.String())
				}
			})
		})
	}
}
