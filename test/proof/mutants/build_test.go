package mutants

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// build builds the tests of a package, with edits of the library: without the race
// detector, which finds nothing more about mistakes, and without vet, which is not to
// find them and takes a quarter of the time. dir is from where pkg is
// named. The error is that the edits do not apply, or do not compile.
func build(t *testing.T, dir, pkg string, edits []edit) (program string, err error) {
	temp := t.TempDir()
	program = filepath.Join(temp, "tests.exe")
	args := []string{"test", "-c", "-vet=off", "-o", program, "-ldflags", "-s -w"}
	if len(edits) > 0 {
		replaced, err := overlay(temp, edits)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", replaced)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return program, nil
}
