// Package manual makes manual pages of a command tree, for man(1).
package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Section is that of commands.
const Section = "1"

// columns is how wide the list of flags is: as wide as what man makes of the rest.
const columns = 72

// Name is the name of a command's page: redlock-demo-exec.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page is the manual page of a command.
func Page(cmd *cobra.Command) string {
	var b strings.Builder
	title := func(s string) string { return strings.ToUpper(escaped(s)) }
	fmt.Fprintf(&b, ".TH \"%s\" %s \"\" \"%s\" \"%s\"\n", title(Name(cmd)), Section, escaped(cmd.Root().Name()+" "+cmd.Root().Version), escaped(cmd.Root().Name()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(Name(cmd)), escaped(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n" + verbatim(cmd.UseLine()))
	description, exit := cmd.Long, ""
	if before, after, ok := strings.Cut(cmd.Long, "\n\nExit code: "); ok {
		description, exit = before, after
	}
	if description == "" {
		description = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(description))
	if commands := visible(cmd); commands != nil {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range commands {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escaped(c.Name()), escaped(c.Short))
		}
	}
	if flags := cmd.LocalFlags().FlagUsagesWrapped(columns); flags != "" {
		b.WriteString(".SH OPTIONS\n" + verbatim(flags))
	}
	if exit != "" {
		exit, rest, _ := strings.Cut(exit, "\n\n")
		b.WriteString(".SH EXIT STATUS\n" + paragraphs(exit))
		if rest != "" {
			b.WriteString(".SH NOTES\n" + paragraphs(rest))
		}
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + verbatim(cmd.Example))
	}
	if others := related(cmd); others != nil {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(others, " ,\n") + "\n")
	}
	return b.String()
}

// visible is the commands below one that its help lists.
func visible(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			list = append(list, c)
		}
	}
	return list
}

// related names the pages of the commands around one.
func related(cmd *cobra.Command) (names []string) {
	around := visible(cmd)
	if cmd.HasParent() {
		around = append([]*cobra.Command{cmd.Parent()}, visible(cmd.Parent())...)
	}
	for _, c := range around {
		if c != cmd {
			names = append(names, fmt.Sprintf(".BR %s (%s)", escaped(Name(c)), Section))
		}
	}
	return names
}

// paragraphs is text that is filled, by its blank lines.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(escaped(p) + "\n")
	}
	return b.String()
}

// verbatim is text that keeps its lines.
func verbatim(text string) string {
	return ".nf\n" + escaped(strings.TrimRight(text, "\n")) + "\n.fi\n"
}

// escaped is text without a meaning of its own to troff. A hyphen would be another
// character where it is copied from.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
