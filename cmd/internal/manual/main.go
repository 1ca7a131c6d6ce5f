// Manual writes the manual pages and the completions of both programs below a directory
// such as /usr/local/share, as a release offers them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/full"
	"github.com/redquorum/redquorum/cmd/internal/tree"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manual DIR")
		os.Exit(2)
	}
	a := &app.App{Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }}
	for _, root := range []*cobra.Command{tree.Redlock(a), full.Demo(a)} {
		if err := write(root, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "manual:", err)
			os.Exit(1)
		}
	}
}

// write writes the pages of all commands of a program, and its completions.
func write(root *cobra.Command, dir string) error {
	pages := filepath.Join(dir, "man", "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true // a page is the same whenever it is made
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: root.Name() + " " + root.Version}, pages); err != nil {
		return err
	}
	name := root.Name()
	for file, generate := range map[string]func(file string) error{
		filepath.Join("bash-completion", "completions", name):       func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		filepath.Join("zsh", "site-functions", "_"+name):            root.GenZshCompletionFile,
		filepath.Join("fish", "vendor_completions.d", name+".fish"): func(file string) error { return root.GenFishCompletionFile(file, true) },
	} {
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := generate(file); err != nil {
			return err
		}
	}
	return nil
}
