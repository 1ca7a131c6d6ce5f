package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/manual"
)

// newShare makes the command by which packages get what lies below /usr/share. It is
// for those who make packages, so the help does not list it.
func newShare() *cobra.Command {
	return &cobra.Command{
		Use: "share DIR", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Write manual pages and completions below a directory such as /usr/local/share",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := share(cmd.Root(), args[0]); err != nil {
				return &outputError{err}
			}
			return nil
		},
	}
}

// share writes the pages of all commands, and the completions of the shells.
func share(root *cobra.Command, dir string) error {
	root.InitDefaultCompletionCmd()
	files := map[string][]byte{}
	for _, cmd := range append(root.Commands(), root) {
		if cmd == root || cmd.IsAvailableCommand() {
			files[filepath.Join("man", "man"+manual.Section, manual.Name(cmd)+"."+manual.Section)] = []byte(manual.Page(cmd))
		}
	}
	name := root.Name()
	for file, generate := range map[string]func(io.Writer) error{
		filepath.Join("bash-completion", "completions", name):       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		filepath.Join("zsh", "site-functions", "_"+name):            root.GenZshCompletion,
		filepath.Join("fish", "vendor_completions.d", name+".fish"): func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var b bytes.Buffer
		if err := generate(&b); err != nil {
			return err
		}
		files[file] = b.Bytes()
	}
	for file, text := range files {
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // everybody may read it
			return err
		}
	}
	return nil
}
