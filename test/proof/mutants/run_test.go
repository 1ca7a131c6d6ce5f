package mutants

import (
	"os/exec"
	"testing"
)

// The tests of the build with mistakes, as a run of their own: without the race
// detector, which finds nothing more about these.
func TestTheBuildWithMistakes(t *testing.T) {
	if built {
		return // this is that run
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("the go command is not there to build the library with mistakes: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), goTool, "test", "-tags", "mutants", "-count", "1", "-v", "-run", "^TestEachMistakeIsFound$", ".")
	out, err := cmd.CombinedOutput()
	t.Logf("%v\n%s", cmd, out)
	if err != nil {
		t.Error(err)
	}
}
