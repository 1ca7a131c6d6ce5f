package chaos

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// TestMain fails the run when goroutines are left behind.
func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	code := m.Run()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		left := leftBehind()
		if len(left) == 0 {
			os.Exit(code)
		}
		if time.Now().After(end) {
			fmt.Fprintf(os.Stderr, "%d goroutines left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			os.Exit(1)
		}
	}
}

func leftBehind() (stacks []string) {
	buf := make([]byte, 1<<20)
	for s := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(s, "redquorum/") && !strings.Contains(s, "TestMain") {
			stacks = append(stacks, s)
		}
	}
	return stacks
}

// golden compares what people see with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not as in %s (go test -update writes it):\n%s", name, got)
	}
}
