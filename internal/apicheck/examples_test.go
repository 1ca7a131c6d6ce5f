package apicheck

import (
	"os"
	"path/filepath"
	"testing"
)

// The example without a go.mod of its own builds in another module, of which nothing
// but the require is ours.
func TestAnExampleCanBeCopiedOut(t *testing.T) {
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(here, "examples", "segments"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(here, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goCommand(t, "off", dir, "mod", "edit", "-module=example.com/copied", "-require="+module+"@v0.0.0", "-replace="+module+"="+here)
	goCommand(t, "off", dir, "vet", "-mod=mod", "./...") // its test as well
}
