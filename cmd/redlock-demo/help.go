package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// helpColumns is how wide a help may be: as a terminal is that nobody has widened.
const helpColumns = 80

// printHelp prints the help of a command, cobra's own ones too.
func printHelp(cmd *cobra.Command, _ []string) {
	text := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)) + "\n\n" + strings.TrimSpace(cmd.UsageString())
	fmt.Fprintln(cmd.OutOrStdout(), words.Fit(helpColumns, text))
}
