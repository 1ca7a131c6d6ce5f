package term

import (
	"strings"
)

// tab is how many columns a tab is counted for.
const tab = 8

// Fit breaks the text of a help to lines of at most width columns. A paragraph ends at a
// blank line. One of prose is filled anew, wherever its lines were broken. One with
// indented lines keeps its lines, as lists and commands do, but for those that are wider.
func Fit(width int, text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.Contains("\n"+p, "\n ") && !strings.Contains("\n"+p, "\n\t") {
			paragraphs[i] = Wrap("", 0, width, p)
			continue
		}
		lines := strings.Split(p, "\n")
		for j, line := range lines {
			if columns(line) > width {
				lines[j] = brokenCommand(width, line)
			}
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// brokenCommand is a line of shell on several. A comment behind the command comes before
// it. The command is broken before flags, pipes and redirections, with a backslash.
func brokenCommand(width int, line string) string {
	command := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(command)]
	var b strings.Builder
	if before, comment, ok := strings.Cut(command, "  # "); ok {
		b.WriteString(indent + "# " + comment + "\n")
		command = strings.TrimRight(before, " ")
	}
	b.WriteString(indent)
	used, further := columns(indent), columns(indent)+4
	for i, part := range parts(command) {
		n := Width(part)
		switch {
		case i == 0:
		case used+1+n+len(` \`) > width:
			b.WriteString(" \\\n" + indent + "    ")
			used = further
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(part)
		used += n
	}
	return b.String()
}

// parts is what of a command may stand on a line of its own: each of its flags with what
// follows it, and all behind a pipe or a redirection. What is quoted stays whole.
func parts(command string) (list []string) {
	quoted, starts := false, "-|>"
	for i, word := range strings.Split(command, " ") {
		if i > 0 && (quoted || word == "" || !strings.Contains(starts, word[:1])) {
			list[len(list)-1] += " " + word
		} else {
			list = append(list, word)
			if word == "|" || word == ">" {
				starts = "|>"
			}
		}
		if strings.Count(word, "'")%2 == 1 {
			quoted = !quoted
		}
	}
	return list
}

// columns is how wide a line is.
func columns(line string) int {
	return Width(line) + (tab-1)*strings.Count(line, "\t")
}

// Wrap puts text after a lead, which takes indent columns, and what does not fit
// into width columns on the lines below it, as far in.
func Wrap(lead string, indent, width int, text string) string {
	var b strings.Builder
	b.WriteString(lead)
	used := indent
	for i, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
