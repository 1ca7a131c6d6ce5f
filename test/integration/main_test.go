package integration

import (
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"

	"github.com/redquorum/redquorum/internal/testutil"
)

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if os.Getenv(childVariable) != "" {
		os.Exit(newcomerMain())
	}
	testutil.SideBySide(3)
	code := m.Run()
	if err := testutil.LeakCheck(settleBound, "redquorum/test/integration.", "redistest."); err != nil {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", err)
		code = max(code, 1)
	}
	fmt.Println(closingLine())
	os.Exit(code)
}

// ranMasters is for the closing line: only the end of a run shows whether a chosen test used
// masters.
var ranMasters atomic.Bool

func closingLine() string {
	masters := "no test was run on any"
	if _, version, err := redistest.Find(); err != nil {
		masters = fmt.Sprintf("did not run: %v", err)
	} else if ranMasters.Load() {
		masters = "ran on redis-server " + version
	}
	return "integration: masters: " + masters
}
