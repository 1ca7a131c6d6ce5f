package faults

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
)

var (
	requireRedis = os.Getenv(redistest.RequireVariable) == "1"
	longRows     = os.Getenv("REDQUORUM_FAULTS_LONG") == "1"
	writeDoc     = os.Getenv("REDQUORUM_FAULTS_DOC") == "1"
)

// rowsAtOnce is how many rows run in parallel at least: they wait most of the time.
const rowsAtOnce = 3

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if os.Getenv(childVariable) != "" {
		os.Exit(clientMain())
	}
	testutil.SideBySide(rowsAtOnce)
	code := m.Run()
	if err := testutil.LeakCheck(settleBound, "redquorum/test/integration/", "redistest."); err != nil {
		fmt.Fprintln(os.Stderr, "left behind by the rows:", err)
		code = max(code, 1)
	}
	if len(table.entries) > 0 {
		fmt.Print(table.markdown())
	}
	fmt.Println(table.closingLine())
	if writeDoc && code == 0 {
		if err := record(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// TestFaults is the matrix. Rows are named after their fault.
func TestFaults(t *testing.T) {
	for _, w := range matrix() {
		t.Run(nameOf(w), func(t *testing.T) {
			if w.others != nil {
				tryElsewhere(t, w)
				return
			}
			if !w.alone { // rows that run alone come first
				t.Parallel()
			}
			tryRow(t, w)
		})
	}
}

func nameOf(w row) string { return strings.ReplaceAll(w.fault, "/", " or ") }

const (
	docFile  = "../../../docs/project/faults.md"
	docBegin = "<!-- table: begin -->\n"
	docEnd   = "<!-- table: end -->\n"
)

// record replaces the table in docs/project/faults.md by that of this run, which must have chosen
// all rows.
func record() error {
	if n := table.missing(); n > 0 {
		return fmt.Errorf("%s keeps whole tables only: %d rows were not chosen", docFile, n)
	}
	text, err := os.ReadFile(docFile)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), docBegin)
	_, after, closed := strings.Cut(rest, docEnd)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table", docFile)
	}
	_, version, err := redistest.Find()
	if err != nil {
		return err
	}
	where := fmt.Sprintf("The last recorded run: redis-server %s, %s/%s with %d processors, race detector %v.\n\n",
		version, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), raceDetector)
	return os.WriteFile(docFile, []byte(before+docBegin+where+table.markdown()+docEnd+after), 0o644)
}
