package testutil

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var Update = flag.Bool("update", false, "write the golden files")

// Golden compares output with a file in testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if *Update {
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
