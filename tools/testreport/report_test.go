package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tree writes a module of the given files, runs `go test -json` over it, and
// returns the report made of that.
func tree(t *testing.T, files map[string]string) (shown string, r *report) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.test\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	events, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r = newReport(&out)
	if err := r.read(bytes.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	return out.String(), r
}

func TestASkippedTestIsListedWithItsReason(t *testing.T) {
	shown, r := tree(t, map[string]string{"a/a_test.go": `package a
import "testing"
func TestPlain(t *testing.T) {}
func TestOne(t *testing.T) { t.Log("looking"); t.Skip("no server:\nnone on the PATH") }
func TestTwo(t *testing.T) { t.Run("inner", func(t *testing.T) { t.Skip("no server:\nnone on the PATH") }) }
func TestThree(t *testing.T) { t.SkipNow() }
`})
	want := "example.test/a: no server: none on the PATH: TestOne, TestTwo/inner\n" +
		"example.test/a: no reason given: TestThree\n"
	if got := r.skippedLines(); got != want {
		t.Errorf("skipped lines:\n%s\nwant:\n%s", got, want)
	}
	if !regexp.MustCompile(`^ok  \texample\.test/a\t\S+\n$`).MatchString(shown) {
		t.Errorf("shown %q, want the closing line alone", shown)
	}
}

func TestAFailedPackageShowsItsFailuresAndNothingElse(t *testing.T) {
	shown, r := tree(t, map[string]string{
		"good/good_test.go": "package good\nimport \"testing\"\nfunc TestGood(t *testing.T) { t.Log(\"quiet\") }\n",
		"bad/bad_test.go": `package bad
import "testing"
func TestGood(t *testing.T) { t.Log("quiet") }
func TestBad(t *testing.T) {
	t.Parallel()
	t.Run("right", func(t *testing.T) { t.Log("quiet") })
	t.Run("wrong", func(t *testing.T) { t.Error("got 1, want 2") })
}
`,
		"none/none.go": "package none\n",
	})
	for _, want := range []string{"--- FAIL: TestBad (", "--- FAIL: TestBad/wrong (", "got 1, want 2", "FAIL\texample.test/bad\t", "ok  \texample.test/good\t"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in what was shown:\n%s", want, shown)
		}
	}
	for _, unwanted := range []string{"quiet", "===", "TestGood", "right"} {
		if strings.Contains(shown, unwanted) {
			t.Errorf("%q is in what was shown:\n%s", unwanted, shown)
		}
	}
	closing := r.closingLines()
	if got := strings.Count(closing, "\n"); got != 3 {
		t.Errorf("%d closing lines, want 3:\n%s", got, closing)
	}
	if !strings.Contains(closing, "?   \texample.test/none\t[no test files]\n") {
		t.Errorf("the package without tests has no closing line:\n%s", closing)
	}
}

func TestAPanicIsShownWithItsTrace(t *testing.T) {
	shown, r := tree(t, map[string]string{"p/p_test.go": `package p
import "testing"
func TestPanics(t *testing.T) { panic("out of paper") }
`})
	for _, want := range []string{"panic: out of paper", "goroutine ", "FAIL\texample.test/p\t"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in what was shown:\n%s", want, shown)
		}
	}
	if got := r.closingLines(); !strings.HasPrefix(got, "FAIL\texample.test/p\t") {
		t.Errorf("closing lines %q", got)
	}
}

func TestACompilerErrorIsShown(t *testing.T) {
	shown, r := tree(t, map[string]string{"c/c_test.go": "package c\nvar x int = \"no\"\n"})
	if !strings.Contains(shown, "c_test.go:2:13: cannot use") {
		t.Errorf("the compiler's error is not in what was shown:\n%s", shown)
	}
	if got := r.closingLines(); !strings.Contains(got, "FAIL\texample.test/c [build failed]\n") {
		t.Errorf("closing lines %q", got)
	}
}

func TestWhatTestMainSaysIsShownThoughAllPassed(t *testing.T) {
	shown, _ := tree(t, map[string]string{"m/m_test.go": `package m
import ("fmt"; "os"; "testing")
func TestMain(m *testing.M) { fmt.Println("against processes"); os.Exit(m.Run()) }
func TestGood(t *testing.T) { fmt.Println("quiet") }
`})
	if !strings.HasPrefix(shown, "against processes\nok  \texample.test/m\t") {
		t.Errorf("shown %q", shown)
	}
}

func TestAnAbortedRunShowsWhatIsKnown(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out)
	err := r.read(strings.NewReader(`{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestLong","Output":"    long_test.go:3: half way\n"}
not an event
`))
	if err != nil {
		t.Fatal(err)
	}
	want := "not an event\np: the run ended before the package did\n    long_test.go:3: half way\n"
	if got := out.String(); got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestTheFilesAreAppendedTo(t *testing.T) {
	dir := t.TempDir()
	closing, skipped := filepath.Join(dir, "closing"), filepath.Join(dir, "skipped")
	events := `{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: why\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`
	for range 2 {
		if err := run(strings.NewReader(events), &bytes.Buffer{}, closing, skipped); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		closing: "ok  \tp\t0.1s\nok  \tp\t0.1s\n",
		skipped: "p: why: TestA\np: why: TestA\n",
	} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s holds %q, want %q", filepath.Base(file), got, want)
		}
	}
}
