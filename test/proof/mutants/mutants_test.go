//go:build mutants

package mutants

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/model"
	"github.com/redquorum/redquorum/internal/mutant"
	"github.com/redquorum/redquorum/test/proof/history"
	"github.com/redquorum/redquorum/test/proof/sim"
)

var only = flag.String("only", "", "just the mistakes whose names contain this")

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	flag.Parse()
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// Each mistake is found by the levels that the list names, within the budget;
// and the whole budget finds nothing in the library as it is.
func TestEachMistakeIsFound(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "| mistake | exhaustive model, within states | simulation | violation | within seeds | of |\n|---|---|---|---|---|---|\n")
	began := time.Now()
	budgets := make(map[string]uint64)
	for _, m := range mistakes {
		if !strings.Contains(m.name, *only) {
			continue
		}
		states := "–"
		if m.model != 0 {
			states = fmt.Sprint(explore(t, m.model))
		}
		if m.profile == "" {
			fmt.Fprintf(&table, "| %s | %s | – | – | – | – |\n", m.name, states)
			continue
		}
		mutant.Use(m.id)
		seed, found := search(t, &m)
		mutant.Use(mutant.None)
		if seed == 0 {
			t.Errorf("%s: no violation (%s) in %d seeds of %q", m.name, m.kind, m.budget, m.profile)
			continue
		}
		t.Logf("%s: seed %d: %v", m.name, seed-1, found)
		budgets[m.profile] = max(budgets[m.profile], m.budget)
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %d | %d |\n", m.name, states, m.profile, m.kind, seed, m.budget)
	}
	for _, profile := range slices.Sorted(maps.Keys(budgets)) {
		as := mistake{name: "none in " + profile, profile: profile, budget: budgets[profile]}
		if seed, found := search(t, &as); seed != 0 {
			t.Errorf("the library as it is, profile %q, seed %d: %v", profile, seed-1, found)
		}
	}
	t.Logf("%v\n%s", time.Since(began).Round(time.Second), &table)
}

// explore is within how many states the exhaustive model finds the mistake.
func explore(t *testing.T, m model.Mutant) int {
	t.Helper()
	for _, c := range model.Mutants() {
		if c.Mutant != m {
			continue
		}
		r, err := model.Explore(c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Trace == nil {
			t.Errorf("the model does not find %v within %d states", m, r.States)
		}
		return r.States
	}
	t.Errorf("the model has no configuration for %v", m)
	return 0
}

// removePictures removes what nobody looks at: these violations are wanted.
func removePictures(found []history.Violation) {
	for _, v := range found {
		if v.File != "" {
			_ = os.Remove(v.File)
		}
	}
}

// search runs seeds of the mistake's profile until one of them leads to a
// violation of its kind (of any, where it names none), on all processors. It
// returns how many seeds that took, 0 where the budget was not enough.
func search(t *testing.T, m *mistake) (needed uint64, found history.Violation) {
	t.Helper()
	var next atomic.Uint64
	var mu sync.Mutex // guards needed and found
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return needed != 0
	}
	t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for {
					seed := next.Add(1) - 1
					if seed >= m.budget || over() {
						return
					}
					p := sim.Draw(m.profile, seed)
					if m.setting != nil {
						m.setting(p)
					}
					r := sim.Run(t, p, seed, false)
					removePictures(r.Violations)
					i := slices.IndexFunc(r.Violations, func(v history.Violation) bool { return m.kind == "" || v.Kind == m.kind })
					if i < 0 {
						continue
					}
					mu.Lock()
					if needed == 0 || seed+1 < needed {
						needed, found = seed+1, r.Violations[i]
					}
					mu.Unlock()
				}
			})
		}
	})
	return needed, found
}
