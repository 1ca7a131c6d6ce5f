package app

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// OneKey wants a key and nothing else.
func OneKey(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Usagef("%d keys are named: want %s KEY (see %[2]s --help)", len(args), cmd.CommandPath())
	}
	return CheckKeys(args...)
}

// CheckKeys refuses keys that are no UTF-8: documents in JSON, and the variables of a command that runs under a lock,
// would name other keys in their place.
func CheckKeys(keys ...string) error {
	for _, key := range keys {
		if !utf8.ValidString(key) {
			return Usagef("key %q is not UTF-8: want a name that JSON and the environment can carry", key)
		}
	}
	return nil
}

func UnknownCommand(cmd *cobra.Command, arg string) error {
	if strings.Contains(arg, "://") {
		return Usagef("unexpected argument that looks like a URL: name the masters by --masters url,url,…")
	}
	message := fmt.Sprintf("unknown command %q", arg)
	if near := cmd.SuggestionsFor(arg); len(near) > 0 {
		message += fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
	}
	return Usagef("%s (see %s --help)", message, cmd.CommandPath())
}

// NoArguments refuses what follows a command that takes none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if strings.Contains(args[0], "://") {
		return UnknownCommand(cmd, args[0])
	}
	return Usagef("unexpected argument %q (see %s --help)", args[0], cmd.CommandPath())
}

// Version is the module's, as the go command stamped it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// HelpColumns is how wide a help may be: as a terminal is that nobody has widened.
const HelpColumns = 80

// PrintHelp prints the help of a command, cobra's own ones too.
func PrintHelp(cmd *cobra.Command, _ []string) {
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))+"\n\n"+strings.TrimSpace(cmd.UsageString()))
}
