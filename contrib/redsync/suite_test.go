package redsync_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	_ "golang.org/x/sync/errgroup" // redsync's tests import it

	"github.com/redquorum/redquorum/internal/redistest"
)

// leftOut are the tests of redsync that cannot be run against this package, and why.
var leftOut = map[string]string{
	"TestSetNXOnExtendAcquiresLockWhenKeyIsExpired": "asserts that a lock that was lost is taken by Extend",
	"TestScripts_Hash": "is about the text of redsync's own scripts",
}

// changes are made to redsync's tests, in this order: first the constructor, then public
// methods and options in place of a Mutex's fields. redsync's tests are part of its package,
// so they use the fields.
var changes = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\bNew\(v\.pools\.\.\.\)`), "New(PoolOf(v.client))"},
	{regexp.MustCompile(`(\w*[mM]utex\w*)\.setNXOnExtend = true`), "WithSetNXOnExtend().Apply($1)"},
	{regexp.MustCompile(`(\w*[mM]utex\w*)\.(expiry|tries) = (.+)`), "With${2}($3).Apply($1)"},
	{regexp.MustCompile(`\bWithexpiry\b`), "WithExpiry"},
	{regexp.MustCompile(`\bWithtries\b`), "WithTries"},
	{regexp.MustCompile(`\bmutex\.name\b`), "mutex.Name()"},
	{regexp.MustCompile(`\bmutex\.value\b`), "mutex.Value()"},
	{regexp.MustCompile(`\bmutex\.quorum(, .*\bv\.pools\b)`), "(len(v.pools)/2 + 1)$1"},
	{regexp.MustCompile(`\bmutex\.quorum\b`), "(len(pools)/2 + 1)"},
}

// TestTheSuiteOfRedsync runs redsync's own tests against this package. The source comes from
// the module cache.
func TestTheSuiteOfRedsync(t *testing.T) {
	eight := redistest.Start(t, 8, redistest.Config{})
	four := redistest.Start(t, 4, redistest.Config{})
	files, tests := rewriteSuite(t, redsyncDir(t))

	// The changed tests are only in the overlay: nothing is written into the tree.
	cmd := exec.Command("go", "test", "-json", "-count=1", "-overlay", overlay(t, files), "./testdata/suite")
	if raceDetectorRuns() {
		cmd.Args = slices.Insert(cmd.Args, 2, "-race")
	}
	cmd.Env = append(os.Environ(),
		"SUITE_MASTERS_8="+strings.Join(eight.URLs(), ","),
		"SUITE_MASTERS_4="+strings.Join(four.URLs(), ","))
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Logf("go test: %v\n%s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	reportSuite(t, out, tests)
	if err != nil {
		t.Error(err)
	}
}

// redsyncDir returns the directory of redsync's source in the module cache.
func redsyncDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-redsync/redsync/v4").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// rewriteSuite makes test files for this package from redsync's test files. It returns the
// files and the names of their tests.
func rewriteSuite(t *testing.T, dir string) (files map[string]string, tests []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	files = make(map[string]string)
	found := make(map[string]bool)
	for _, name := range names {
		text, kept := rewrite(t, name, found)
		if len(kept) == 0 {
			continue
		}
		tests = append(tests, kept...)
		target := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = target
	}
	for name := range leftOut {
		if !found[name] {
			t.Errorf("redsync has no test %s, which is left out: %s", name, leftOut[name])
		}
	}
	return files, tests
}

// rewrite keeps the tests of a file, the functions that they need, and the imports that are
// still used. It applies changes to them.
func rewrite(t *testing.T, name string, found map[string]bool) (text string, kept []string) {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			if strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				found[f.Name.Name] = true
			}
			if !keepsFunction(f.Name.Name) {
				continue
			}
			if strings.HasPrefix(f.Name.Name, "Test") {
				kept = append(kept, f.Name.Name)
			}
		} else if !keepsDeclaration(decl) {
			continue
		}
		body.Write(source[set.Position(decl.Pos()).Offset:set.Position(decl.End()).Offset])
		body.WriteString("\n\n")
	}
	changed := body.String()
	for _, c := range changes {
		changed = c.from.ReplaceAllString(changed, c.to)
	}
	return header(file, changed) + changed, kept
}

// keepsFunction leaves out the functions that make masters and mutexes, which testdata/suite
// has, and those that leftOut names.
func keepsFunction(name string) bool {
	switch {
	case name == "TestMain", name == "testRunner", name == "makeCases", name == "newTestMutexes", name == "testScriptHash":
		return false
	case strings.HasPrefix(name, "newMockPools"):
		return false
	}
	return leftOut[name] == ""
}

// keepsDeclaration keeps types, except for the type of the cases.
func keepsDeclaration(decl ast.Decl) bool {
	d, ok := decl.(*ast.GenDecl)
	if !ok || d.Tok != token.TYPE {
		return false
	}
	return !slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
		spec, ok := s.(*ast.TypeSpec)
		return ok && spec.Name.Name == "testCase"
	})
}

// header returns the package clause, the import of this package and the imports that text needs.
func header(file *ast.File, text string) string {
	var b strings.Builder
	b.WriteString("package suite\n\nimport (\n")
	if strings.Contains(text, "Mutex") || strings.Contains(text, "RedisError") {
		b.WriteString("\t. \"github.com/redquorum/redquorum/contrib/redsync\"\n")
	}
	for _, i := range file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(text) {
			fmt.Fprintf(&b, "\t%s %q\n", name, path)
		}
	}
	b.WriteString(")\n\n")
	return b.String()
}

// overlay writes an overlay file with which go test sees the files in testdata/suite.
func overlay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "suite"))
	if err != nil {
		t.Fatal(err)
	}
	replace := make(map[string]string)
	for name, at := range files {
		replace[filepath.Join(dir, name)] = at
	}
	return writeOverlay(t, replace)
}

// writeOverlay writes an overlay file, with which go build and go test replace files by others.
func writeOverlay(t *testing.T, replace map[string]string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// reportSuite makes a subtest of each test that was to run.
func reportSuite(t *testing.T, out []byte, tests []string) {
	t.Helper()
	var printed strings.Builder
	result := make(map[string]string)
	for events := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct{ Action, Test, Output string }
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("what go test printed: %v\n%s", err, out)
		}
		printed.WriteString(e.Output)
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			result[e.Test] = e.Action
		}
	}
	for _, name := range tests {
		t.Run(name, func(t *testing.T) {
			if result[name] != "pass" {
				t.Errorf("it did not pass: %q", result[name])
			}
		})
	}
	if t.Failed() {
		t.Logf("go test printed:\n%s", printed.String())
	}
}

func raceDetectorRuns() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
