package mutants

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/test/proof/history"
	"github.com/redquorum/redquorum/test/proof/sim"
)

// A simulation finds a mutant by a violation of a kind, within so many seeds of a
// profile. The whole budget finds none in the library as it is.
type simulation struct {
	profile string
	kind    string
	budget  uint64 // seeds
}

// tests names this very package: TestSearch runs the simulation, built with the edits.
func (s simulation) tests() (dir, pkg string) { return ".", "." }

func (s simulation) find(t *testing.T, m *mutant, clean string) (cells string, err error) {
	program := clean
	if len(m.edits) > 0 {
		if program, err = build(t, ".", ".", m.edits); err != nil {
			return "", err
		}
	}
	found, err := runSearch(t, program, "-mutant", m.name)
	if err != nil {
		return "", err
	}
	if found.Seeds == 0 {
		return "", fmt.Errorf("it survives: %d seeds of the profile %q have no violation of the kind %q", s.budget, s.profile, s.kind)
	}
	t.Logf("seed %d: %s", found.Seeds-1, found.Violation)
	return fmt.Sprintf("%s | %s | %d | %d", s.profile, s.kind, found.Seeds, s.budget), nil
}

// A discovery is the result of a search.
type discovery struct {
	Seeds     uint64 // how many it took; 0: the budget was not enough
	Violation string
}

// runSearch runs TestSearch of a program.
func runSearch(t *testing.T, program string, args ...string) (found discovery, err error) {
	result := filepath.Join(t.TempDir(), "result.json")
	args = append([]string{"-test.run", "^TestSearch$", "-test.v", "-result", result}, args...)
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		return found, fmt.Errorf("the search failed: %w\n%s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(text, &found)
}

// checkClean checks that so many seeds of a profile find nothing in the library as it is.
func checkClean(t *testing.T, clean, profile string, budget uint64) {
	found, err := runSearch(t, clean, "-profile", profile, "-budget", strconv.FormatUint(budget, 10))
	if err != nil {
		t.Fatal(err)
	}
	if found.Seeds != 0 {
		t.Errorf("the unchanged library violates a rule in the profile %q, seed %d: %s", profile, found.Seeds-1, found.Violation)
	}
}

// These flags say what TestSearch is to do; tests in another process set them.
var (
	resultFile   = flag.String("result", "", "the file to which TestSearch writes what it finds")
	mutantName   = flag.String("mutant", "", "the mutant whose violation TestSearch looks for")
	cleanProfile = flag.String("profile", "", "without a mutant: the profile in which TestSearch looks for any violation")
	cleanBudget  = flag.Uint64("budget", 0, "without a mutant: how many seeds TestSearch runs")
)

// TestSearch looks for a violation in the library that this program was built with.
func TestSearch(t *testing.T) {
	if *resultFile == "" {
		return // TestEachMutantIsFound runs it, in programs of its own
	}
	s, setting := simulation{profile: *cleanProfile, budget: *cleanBudget}, func(*sim.Profile) {}
	if *mutantName != "" {
		i := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == *mutantName })
		if i < 0 {
			t.Fatalf("no mutant has the name %q", *mutantName)
		}
		s, _ = mutants[i].simulated()
		if mutants[i].setting != nil {
			setting = mutants[i].setting
		}
	}
	text, err := json.Marshal(s.search(t, setting))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*resultFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// search runs seeds on all processors, until one of them causes a violation of the kind, or any
// violation if there is no kind.
func (s simulation) search(t *testing.T, setting func(*sim.Profile)) (found discovery) {
	var next atomic.Uint64
	var mu sync.Mutex // guards found
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return found.Seeds != 0
	}
	t.Run("seeds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for {
					seed := next.Add(1) - 1
					if seed >= s.budget || over() {
						return
					}
					p := sim.Draw(s.profile, seed)
					setting(p)
					r := sim.Run(t, p, seed, false)
					removePictures(r.Violations)
					i := slices.IndexFunc(r.Violations, func(v history.Violation) bool { return s.kind == "" || v.Kind == s.kind })
					if i < 0 {
						continue
					}
					mu.Lock()
					if found.Seeds == 0 || seed+1 < found.Seeds {
						found = discovery{seed + 1, r.Violations[i].String()}
					}
					mu.Unlock()
				}
			})
		}
	})
	return found
}

// removePictures removes the pictures of expected violations.
func removePictures(found []history.Violation) {
	for _, v := range found {
		if v.File != "" {
			_ = os.Remove(v.File)
		}
	}
}
