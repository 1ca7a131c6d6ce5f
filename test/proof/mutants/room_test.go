package mutants

import (
	"cmp"
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var room = flag.String("room", "", "the room below internal, or redlock, whose mutants TestFirstFindersOfTheMutantsOfARoom tries")

// TestFirstFindersOfTheMutantsOfARoom is what make mutants runs. For each mutant that edits a room it
// runs the tests of the room, then those of redlock, and prints the first test of each that
// fails. It judges nothing: it shows what a test is worth before you remove it.
func TestFirstFindersOfTheMutantsOfARoom(t *testing.T) {
	if *room == "" {
		return // it takes minutes, so it runs only on request
	}
	needGo(t)
	packages := []string{"./redlock"}
	if *room != "redlock" {
		packages = []string{"./internal/" + *room, "./redlock"}
	}
	of := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !slices.ContainsFunc(m.edits, func(e edit) bool { return strings.HasPrefix("./"+e.file, packages[0]+"/") })
	})
	if len(of) == 0 {
		t.Fatalf("no mutant edits %s", packages[0])
	}
	for _, pkg := range packages {
		if found := firstFinder(t, pkg, nil); found != survives {
			t.Fatalf("%s of %s fails with the unchanged library", found, pkg)
		}
	}
	t.Logf("| mistake | first test of %s that fails |", strings.Join(packages, " | of "))
	for _, m := range of {
		row := "| " + m.name
		for _, pkg := range packages {
			row += " | " + firstFinder(t, pkg, m.edits)
		}
		t.Log(row + " |")
	}
}

const survives = "–"

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFinder returns the first test of a package that fails with these edits.
func firstFinder(t *testing.T, pkg string, edits []edit) string {
	t.Helper()
	program, err := build(t, root, pkg, edits)
	if err != nil {
		t.Fatal(err)
	}
	out, failed, err := runTests(t, program, pkg, "-test.failfast", "-test.timeout", "15m")
	switch {
	case err != nil:
		t.Fatal(err)
	case !failed:
		return survives
	}
	if found := failedTest.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return cmp.Or(regexp.MustCompile(`(?m)^panic: .*`).FindString(out), "the package fails without a failing test")
}
