package demoroot

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
)

// The test checks hidden commands, too. A terminal has 80 columns, and a tab takes up to eight.
// Cobra writes the help of completion, so its lines are not checked.
func TestNoLineOfAnyHelpIsWiderThanATerminal(t *testing.T) {
	root := Demo(&app.App{Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	seen := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "Usage:\n  "+cmd.CommandPath()) {
			t.Errorf("%s: no help:\n%s", cmd.CommandPath(), out.String())
		}
		text := out.String()
		if strings.Contains(cmd.CommandPath(), " completion") {
			text = ""
		}
		for line := range strings.Lines(text) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        ")
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s --help: a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		seen++
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look(root)
	if seen < 14 { // the root, its nine, and those of completion
		t.Errorf("%d commands", seen)
	}
}
