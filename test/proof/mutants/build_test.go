package mutants

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// race before the name of a package makes build use the race detector. Other packages are built
// without it: it finds nothing more about most mistakes.
const race = "-race "

// build builds the tests of a package with edits of the library. It leaves out vet, which takes
// a quarter of the time and is not to find mistakes. pkg is named from dir. The error is that
// the edits do not apply, or do not compile.
func build(t *testing.T, dir, pkg string, edits []edit) (program string, err error) {
	temp := t.TempDir()
	program = filepath.Join(temp, "tests.exe")
	args := []string{"test", "-c", "-vet=off", "-o", program, "-ldflags", "-s -w"}
	env := os.Environ()
	if name, ok := strings.CutPrefix(pkg, race); ok {
		pkg, args = name, append(args, "-race")
	}
	if strings.HasPrefix(pkg, "./contrib/") {
		// This module requires a release of the root: the workspace uses the tree instead.
		tree, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		work := filepath.Join(temp, "go.work")
		text := fmt.Sprintf("go 1.26.0\n\nreplace github.com/redquorum/redquorum => %s\n\nuse %s\n", tree, filepath.Join(tree, pkg))
		if err := os.WriteFile(work, []byte(text), 0o600); err != nil {
			return "", err
		}
		env = append(env, "GOWORK="+work)
	}
	if len(edits) > 0 {
		replaced, err := overlay(temp, edits)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", replaced)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return program, nil
}
