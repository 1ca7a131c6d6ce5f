package mutants

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A goTest is a test of the module that finds a mutant: it fails, panics or is stuck. With the
// unchanged library it passes.
type goTest struct {
	pkg  string // as the go command wants it: ./redlock; with or without race before it
	name string // the test, or a part of it: TestX/part
}

func (g goTest) tests() (dir, pkg string) { return root, g.pkg }

func (g goTest) find(t *testing.T, m *mutant, clean string) (cells string, err error) {
	out, failed, err := g.run(t, clean)
	switch {
	case err != nil:
		return "", err
	case failed:
		return "", fmt.Errorf("%s fails with the unchanged library\n%s", g.name, out)
	case strings.Contains(out, "--- SKIP: "+g.name+" "):
		t.Skipf("%s is skipped here\n%s", g.name, out)
	case !strings.Contains(out, "--- PASS: "+g.name+" "):
		return "", fmt.Errorf("%s has no test %s\n%s", g.pkg, g.name, out)
	}
	program, err := build(t, root, g.pkg, m.edits)
	if err != nil {
		return "", err
	}
	for i := range *times {
		out, failed, err = g.run(t, program)
		if err != nil {
			return "", err
		}
		if !failed {
			return "", fmt.Errorf("it survives run %d of %d: %s passes\n%s", i+1, *times, g.name, out)
		}
	}
	t.Logf("%s", out)
	return fmt.Sprintf("– | %s in %s | – | –", g.name, g.pkg), nil
}

// stuckAfter is how long a test may run before it counts as failed. None takes nearly as long
// with the unchanged library.
const stuckAfter = "1m"

// run runs the test. The error is that it did not finish.
func (g goTest) run(t *testing.T, program string) (out string, failed bool, err error) {
	var pattern []string
	for part := range strings.SplitSeq(g.name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	return runTests(t, program, g.pkg, "-test.v", "-test.timeout", stuckAfter, "-test.run", strings.Join(pattern, "/"))
}

// runTests runs a program of tests in the directory in which the go command would run it. The
// error is that it did not finish.
func runTests(t *testing.T, program, pkg string, args ...string) (out string, failed bool, err error) {
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = filepath.Join(root, strings.TrimPrefix(pkg, race))
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 {
		return "", false, fmt.Errorf("%s of %s did not finish: %w\n%s", args, pkg, err, output)
	}
	return string(output), err != nil, nil
}

// If a mutant is not found, for whatever reason, the error says why.
func TestAMutantThatIsNotFoundIsAnError(t *testing.T) {
	needGo(t)
	const file, right = "internal/quorum/quorum.go", "return n/2 + 1"
	as := goTest{"./internal/quorum", "TestNeed"}
	clean, err := build(t, root, as.pkg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what     string
		old, new string
		test     string
		want     string // in the error; "": none
	}{
		{"a mistake", right, "return n / 2", as.name, ""},
		{"no mistake", right, "return 1 + n/2", as.name, "it survives"},
		{"a mistake that does not compile", right, "return n/2 +", as.name, "it does not compile"},
		{"an edit that does not apply", "return n/3", "return n / 2", as.name, file + ": the old text occurs 0 times"},
		{"a test that does not exist", right, "return n / 2", "TestNee", "has no test TestNee"},
	} {
		m := &mutant{edits: []edit{{file, c.old, c.new}}}
		_, err := goTest{as.pkg, c.test}.find(t, m, clean)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", c.what, err, c.want)
		}
	}
}
