package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/full"
	"github.com/redquorum/redquorum/cmd/internal/tree"
)

func TestEveryCommandHasAManualPageAndEveryShellACompletion(t *testing.T) {
	dir := t.TempDir()
	a := &app.App{Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }}
	for _, root := range []*cobra.Command{tree.Redlock(a), full.Demo(a)} {
		if err := write(root, dir); err != nil {
			t.Fatal(err)
		}
		for _, cmd := range append(root.Commands(), root) {
			if cmd != root && !cmd.IsAvailableCommand() {
				continue
			}
			page := filepath.Join(dir, "man", "man1", strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
			if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "\n.SH NAME\n") {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, file := range []string{"bash-completion/completions/" + root.Name(), "zsh/site-functions/_" + root.Name(), "fish/vendor_completions.d/" + root.Name() + ".fish"} {
			if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), root.Name()) {
				t.Errorf("%s: %v, %d bytes", file, err, len(text))
			}
		}
		bash, err := exec.LookPath("bash")
		if err != nil {
			t.Logf("whether bash takes its completion was not looked at: %v", err)
			continue
		}
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", `source "$0" && complete -p `+root.Name(), filepath.Join(dir, "bash-completion", "completions", root.Name()))
		if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), root.Name()) {
			t.Errorf("%v: %s", err, text)
		}
	}
}
