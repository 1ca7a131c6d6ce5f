package mutants

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/test/proof/sim"
	"github.com/redquorum/redquorum/verification/fencing"
	"github.com/redquorum/redquorum/verification/model"
	"github.com/redquorum/redquorum/verification/search"
)

var (
	only  = flag.String("only", "", "run only the mutants whose names contain this text")
	times = flag.Int("times", 1, "how often in a row a test has to find its mutant, so that it does not find it by luck")
)

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	flag.Parse()
	// Garbage is collected less often, which costs memory and saves processor time.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// A finder has to find a mutant.
type finder interface {
	// tests names the package whose tests find it, and the directory from which it is named.
	tests() (dir, pkg string)
	// find returns the mutant's cells of the table; the error is why it is not found. clean is
	// the program of these tests, built from the unchanged library.
	find(t *testing.T, m *mutant, clean string) (cells string, err error)
}

// The finder that the list names finds each mutant, and finds nothing in the unchanged library.
func TestEachMutantIsFound(t *testing.T) {
	needGo(t)
	began := time.Now()
	clean := make(map[string]string)     // programs by package
	budgets := make(map[string]uint64)   // the simulation's, by profile
	rows := make([]string, len(mutants)) // of the table
	inTenth := sim.Tenth(t, len(mutants), "mutants")
	chosen := func(i int) bool { return inTenth(i) && strings.Contains(mutants[i].name, *only) }
	for i := range mutants {
		m := &mutants[i]
		if slices.ContainsFunc(mutants[:i], func(other mutant) bool { return other.name == m.name }) {
			t.Fatalf("two mutants have the name %q", m.name)
		}
		if !chosen(i) {
			continue
		}
		finders := []finder{m.foundBy}
		if s, ok := m.simulated(); ok {
			finders = append(finders, s)
			budgets[s.profile] = max(budgets[s.profile], s.budget)
		}
		for _, f := range finders {
			if dir, pkg := f.tests(); clean[pkg] == "" {
				program, err := build(t, dir, pkg, nil)
				if err != nil {
					t.Fatal(err)
				}
				clean[pkg] = program
			}
		}
	}
	if len(clean) == 0 {
		t.Fatalf("no mutant of this run has %q in its name", *only)
	}
	t.Run("mutants", func(t *testing.T) {
		for i := range mutants {
			m := &mutants[i]
			if !chosen(i) {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				states := "–"
				switch {
				case m.model != 0:
					states = fmt.Sprint(explore(t, model.Suite(), m.model.String()))
				case m.fencing != 0:
					states = fmt.Sprint(explore(t, fencing.Suite(), m.fencing.String()))
				}
				finders := []finder{m.foundBy}
				if m.also.profile != "" {
					finders = append(finders, m.also)
				}
				for _, f := range finders {
					_, pkg := f.tests()
					cells, err := f.find(t, m, clean[pkg])
					if err != nil {
						t.Fatalf("the mutant %q, which breaks the rule %q: %v", m.name, m.breaks, err)
					}
					rows[i] += fmt.Sprintf("| %s | %s | %s |\n", m.name, states, cells)
				}
			})
		}
		for _, profile := range slices.Sorted(maps.Keys(budgets)) {
			t.Run("unchanged library, profile "+profile, func(t *testing.T) {
				t.Parallel()
				checkClean(t, clean["."], profile, budgets[profile])
			})
		}
	})
	t.Logf("%v\n| mistake | states until the model finds it | simulation profile | violation, or failing test | seeds until it is found | seed budget |\n|---|---|---|---|---|---|\n%s",
		time.Since(began).Round(time.Second), strings.Join(rows, ""))
}

// needGo skips a test where mutants cannot be built.
func needGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("the go command is needed to build the library with mistakes: %v", err)
	}
}

// explore returns within how many states a model finds the mistake.
func explore(t *testing.T, of search.Suite, mistake string) int {
	t.Helper()
	for _, c := range of.Mistakes {
		if !slices.Contains(strings.Split(c.Title(), " + "), mistake) {
			continue
		}
		r, err := c.Explore(0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Trace == nil {
			t.Errorf("the model %q does not find %s within %d states", of.Name, mistake, r.States)
		}
		return r.States
	}
	t.Errorf("the model %q has no configuration for %s", of.Name, mistake)
	return 0
}

// The edits must follow the source. After a change of a line that a mutant edits, even of a
// comment, this test fails within a second.
func TestTheEditsOfAllMutantsApply(t *testing.T) {
	for i := range mutants {
		if _, err := apply(root, mutants[i].edits); err != nil {
			t.Errorf("%s: %v", mutants[i].name, err)
		}
	}
}
