package demoroot

import (
	"os"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// FuzzArguments parses a command line, words separated by line feeds, without running anything.
func FuzzArguments(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		root := Demo(&app.App{Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }})
		cmd, words, err := root.Find(strings.Split(text, "\n"))
		if err != nil {
			testutil.WantOneLine(t, err)
			return
		}
		if err := cmd.ParseFlags(words); err != nil {
			testutil.WantOneLine(t, app.FlagError(cmd, err))
		}
	})
}
