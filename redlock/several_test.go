package redlock_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Masters that have some keys taken, hang, die and come back, in many ways: when
// all is over, nothing of an attempt is left but what was granted, and nothing of
// that after Unlock, nor is anything of others' gone.
func TestWhateverHappensOnlyWhatWasGrantedIsLeft(t *testing.T) {
	t.Parallel()
	const n, cases = 5, 100
	keys := slots(3)
	for _, k := range sorts {
		t.Run(k.name, func(t *testing.T) {
			inUnguardedSim(t, n, func(t *testing.T, s *sim) {
				c := s.open()
				granted := 0
				for seed := range uint64(cases) {
					dice := rand.New(rand.NewPCG(seed, 0))
					var taken [n][]string
					var frozen, killed []int
					for i, m := range s.All {
						for _, key := range keys {
							if dice.IntN(5) == 0 {
								taken[i] = append(taken[i], key)
								_ = m.Set(key, foreign, time.Hour)
							}
						}
						switch dice.IntN(8) {
						case 0:
							s.Freeze(i)
							frozen = append(frozen, i)
						case 1:
							s.Freeze(i) // and dies with what it was sent
							killed = append(killed, i)
						}
					}
					l, err := k.try(c, t.Context(), keys, redlock.WithLease(30*time.Second))
					unlockEarly := dice.IntN(2) == 0
					if err == nil && unlockEarly {
						if err := l.Unlock(t.Context()); err != nil {
							t.Errorf("case %d: %v", seed, err)
						}
					}
					s.Kill(killed...)
					s.Restart(true, killed...)
					s.Thaw(frozen...)
					time.Sleep(3 * time.Second) // until the client has connected again
					wantOnly := func(when string, mine []string) {
						t.Helper()
						for i, m := range s.All {
							for _, key := range keys {
								v, _ := m.Get(key)
								switch {
								case slices.Contains(taken[i], key):
									if v != foreign {
										t.Errorf("case %d, %s: the other's %s on master %d is %q", seed, when, key, i, v)
									}
								case v != "" && !(slices.Contains(mine, key) && s.has(i, l)):
									t.Errorf("case %d, %s: %s on master %d is %q", seed, when, key, i, v)
								}
							}
						}
					}
					switch {
					case err != nil || unlockEarly:
						wantOnly("at the end", nil)
					default:
						granted++
						wantOnly("while it is held", l.Keys())
						if err := l.Verify(t.Context()); err != nil {
							t.Errorf("case %d: %v", seed, err)
						}
						if err := l.Unlock(t.Context()); err != nil {
							t.Errorf("case %d: %v", seed, err)
						}
						synctest.Wait()
						wantOnly("after Unlock", nil)
					}
					for _, m := range s.All {
						m.FlushAll()
					}
					if err := c.Ready(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if granted < cases/20 {
					t.Errorf("%d of %d were granted: the test tests little", granted, cases)
				}
			})
		})
	}
}
