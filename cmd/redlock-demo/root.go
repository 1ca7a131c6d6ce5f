package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/manual"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// newRoot makes the command tree. The root without a command is demo.
func newRoot(a *app) *cobra.Command {
	shared := &sharedFlags{ttl: demo.DefaultTTL}
	o := newDemoOptions(shared)
	root := &cobra.Command{
		Use:   "redlock-demo",
		Short: "See a distributed lock on a quorum of Redis masters at work",
		Long: `redlock-demo has two uses. It shows Redlock at work: demo sells an inventory,
first without a lock and then with one, while masters fail. And it uses Redlock
from a shell: exec runs a command while it holds a lock, and status, locks,
doctor and others look after locks and masters.

Without a command it runs "redlock-demo demo".`,
		Example:       demoExamples,
		Annotations:   map[string]string{heeds: demoHeeds},
		Version:       version(),
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return applyConfig(cmd, a, shared.config)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, a, o) },
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("redlock-demo {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpColumns)))
	root.SetHelpFunc(printHelp)
	o.register(root)
	root.AddCommand(newDemo(a, shared), newExec(a, shared), newStatus(a, shared), newLocks(a, shared), newRelease(a, shared), newWait(a, shared), newChaos(a, shared),
		newBench(a, shared), newDoctor(a, shared), newInit(a, shared), newFleet(a, shared), newShare())
	for _, cmd := range append(root.Commands(), root) {
		if !cmd.Hidden {
			shared.register(cmd)
		}
	}
	return root
}

func unknownCommand(cmd *cobra.Command, arg string) error {
	if strings.Contains(arg, "://") {
		return usagef("unexpected argument that looks like a URL: name the masters by --masters url,url,…")
	}
	message := fmt.Sprintf("unknown command %q", arg)
	if near := cmd.SuggestionsFor(arg); len(near) > 0 {
		message += fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
	}
	return usagef("%s (see %s --help)", message, cmd.CommandPath())
}

// noArguments refuses what follows a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if strings.Contains(args[0], "://") {
		return unknownCommand(cmd, args[0])
	}
	return usagef("unexpected argument %q (see %s --help)", args[0], cmd.CommandPath())
}

// version is the module's, as the go command stamped it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// helpColumns is how wide a help may be: as a terminal is that nobody has widened.
const helpColumns = 80

// printHelp prints the help of a command, cobra's own ones too.
func printHelp(cmd *cobra.Command, _ []string) {
	text := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)) + "\n\n" + strings.TrimSpace(cmd.UsageString())
	fmt.Fprintln(cmd.OutOrStdout(), words.Fit(helpColumns, text))
}

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
