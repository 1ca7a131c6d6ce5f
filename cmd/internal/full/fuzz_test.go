package full

import (
	"os"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
)

// FuzzArguments parses a command line, words separated by line feeds, without
// running anything.
func FuzzArguments(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		root := Demo(&app.App{Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }})
		cmd, words, err := root.Find(strings.Split(text, "\n"))
		if err != nil {
			rig.WantOneLine(t, err)
			return
		}
		if err := cmd.ParseFlags(words); err != nil {
			rig.WantOneLine(t, app.FlagError(cmd, err))
		}
	})
}
