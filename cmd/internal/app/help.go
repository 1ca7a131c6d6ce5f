package app

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// OneKey requires exactly one key.
func OneKey(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Usagef("%d keys are named: want %s KEY (see %[2]s --help)", len(args), cmd.CommandPath())
	}
	return CheckKeys(args...)
}

// CheckKeys rejects keys that are not UTF-8: JSON documents, and the environment of a command that
// runs under a lock, would name other keys instead.
func CheckKeys(keys ...string) error {
	for _, key := range keys {
		if !utf8.ValidString(key) {
			return Usagef("key %q is not UTF-8: want a name that JSON and the environment can carry", key)
		}
	}
	return nil
}

// checkCommand rejects an unknown command, and none where one is required. Cobra would print
// help or the version, which a script takes for success.
func checkCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return nil // cobra adds these commands when it runs
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	flags := 0
	if cmd.Flags().ParseAll(rest, func(*pflag.Flag, string) error { flags++; return nil }) != nil {
		return nil // cobra parses them again, and says what is wrong
	}
	if words := cmd.Flags().Args(); len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	if !cmd.Runnable() && flags == 0 { // those flags are --help and --version
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return Usagef("no command is named: want one of %s (see %s --help)",
			strings.Join(names, ", "), cmd.CommandPath())
	}
	return nil
}

func unknownCommand(cmd *cobra.Command, arg string) error {
	if strings.Contains(arg, "://") {
		return Usagef("unexpected argument that looks like a URL: name the masters by --masters url,url,…")
	}
	return Usagef("unknown command %q%s (see %s --help)", arg, meant(cmd, arg), cmd.CommandPath())
}

// meant returns a question that suggests commands below cmd similar to typo; "": there are none.
func meant(cmd *cobra.Command, typo string) string {
	near := cmd.SuggestionsFor(typo)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
}

// NewHelp returns the command help. Cobra's own exits with 0 for commands that do not exist.
func NewHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0 && about.HasSubCommands():
				return unknownCommand(about, rest[0])
			case len(rest) > 0:
				return NoArguments(about, rest)
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// NoArguments rejects arguments of a command that takes none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if strings.Contains(args[0], "://") {
		return unknownCommand(cmd, args[0])
	}
	return Usagef("unexpected argument %q (see %s --help)", args[0], cmd.CommandPath())
}

// Version returns the module's version, as the go command stamped it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// HelpColumns is how wide a help text may be: the usual width of a terminal.
const HelpColumns = 80

// PrintHelp prints the help of a command, also of cobra's own.
func PrintHelp(cmd *cobra.Command, _ []string) {
	text := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), text+"\n\n"+strings.TrimSpace(cmd.UsageString()))
}
