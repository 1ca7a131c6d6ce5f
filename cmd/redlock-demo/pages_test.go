package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/demoroot"
	"github.com/redquorum/redquorum/cmd/internal/root"
)

// A block is one fenced block of a page.
type block struct {
	page   string
	line   int    // of its fence, from 1
	lang   string // the text behind the fence
	text   string
	marker string // what the comment before it says; "": there is none
	below  *block // the block that follows with nothing but empty lines between
}

// The markers that the tests know. A shell block without a marker is run. A marker says why
// a block is not run, or what its exit code is.
var (
	notRun        = regexp.MustCompile(`^not run: .{10,}$`)
	exitMarker    = regexp.MustCompile(`^exit code (\d+)$`)
	programMarker = regexp.MustCompile(`^file: (\w+)$`)
	comment       = regexp.MustCompile(`^<!-- (.*) -->$`)
)

// pages are the pages whose commands are checked, by their paths.
func pages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	all := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("%d pages: too few to be all", len(all))
	}
	return all
}

// blocks returns the fenced blocks of a page, in order. A command outside of a block is an
// error, because no test would check it.
func blocks(t *testing.T, page string) []*block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []*block
	var open, last *block // last: only empty lines are between it and this line
	marker, n := "", 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		said := comment.FindStringSubmatch(strings.TrimLeft(line, " "))
		switch {
		case isFence && open != nil:
			all, last, open, marker = append(all, open), open, nil, ""
		case isFence:
			open = &block{page: page, line: n, lang: fence, marker: marker}
			if last != nil {
				last.below = open
			}
		case open != nil:
			open.text += line + "\n"
		case said != nil:
			marker = said[1]
		case line != "":
			last, marker = nil, ""
			if strings.HasPrefix(line, "    ") && isCommand(strings.TrimLeft(line, " ")) {
				t.Errorf("%s:%d: a command outside of a block: want it in ```sh", page, n)
			}
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block has no end", page, open.line)
	}
	return all
}

func isCommand(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"redlock", "redlock-demo", "make", "go", "redis-server", "redis-cli", "cd"}, word)
}

// Every block has a language that a test or a reader knows, and every marker is one
// that the tests know: nothing is left out by mistake.
func TestBlocksOfThePagesAreOfAKnownSort(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			switch {
			case !slices.Contains([]string{"sh", "go", "text", "mermaid", "sql", "lua", "conf", "crontab", "bash", "java", "yaml"}, b.lang):
				t.Errorf("%s:%d: a block of the sort %q", page, b.line, b.lang)
			}
			switch {
			case b.marker == "":
			case b.lang == "sh" && (notRun.MatchString(b.marker) || exitMarker.MatchString(b.marker)):
			case b.lang == "go" && (strings.HasPrefix(b.marker, "compiled in: ") || programMarker.MatchString(b.marker)):
			default:
				t.Errorf("%s:%d: no test knows %q before a block of the sort %q", page, b.line, b.marker, b.lang)
			}
		}
	}
}

// Each command of this program that a page shows has flags and arguments that the
// program takes, in a block or within a sentence. Each target of make that a page shows
// exists. Both hold for blocks that are not run, too.
func TestCommandsOfThePagesAreTaken(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, page := range pages(t) {
		for _, b := range append(blocks(t, page), inSentences(t, page)...) {
			text := b.text
			switch b.lang {
			case "sh", "crontab":
			case "text":
				text = shown(b.text)
			default:
				continue
			}
			for _, words := range commands(text) {
				switch {
				case words[0] == "redlock", words[0] == "redlock-demo":
					ours++
					if err := taken(words[0], words[1:]); err != nil {
						t.Errorf("%s:%d: %q: %v", page, b.line, words, err)
					}
				case words[0] == "make" && len(words) > 1 && !strings.Contains(words[1], "="):
					if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).Match(makefile) {
						t.Errorf("%s:%d: %q: there is no such target", page, b.line, words)
					}
				}
			}
		}
	}
	if ours < 30 {
		t.Errorf("%d commands were found: too few to be all", ours)
	}
}

// The page of the command has a row for every command that the help names, and no other.
func TestPageOfTheCommandHasEveryCommand(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "reference", "command.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, found := range regexp.MustCompile("(?m)^\\| `([a-z]+)(?: [a-z]+)?` \\|").FindAllStringSubmatch(string(text), -1) {
		rows[found[1]] = true
	}
	root := demoroot.Demo(&app.App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }})
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && !rows[cmd.Name()] {
			t.Errorf("%s has no row for %s", page, cmd.Name())
		}
		delete(rows, cmd.Name())
	}
	for name := range rows {
		t.Errorf("%s has a row for %s, which there is not", page, name)
	}
}

// inSentence matches a command with arguments in a sentence, of more than two words: two are
// only its name. A command with … is not complete.
var inSentence = regexp.MustCompile("`(redlock(?:-demo)? [a-z]+ [^`…]+)`")

// inSentences returns the commands in the sentences of a page, as blocks.
func inSentences(t *testing.T, page string) []*block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []*block
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		for _, found := range inSentence.FindAllStringSubmatch(line, -1) {
			all = append(all, &block{page: page, line: n, lang: "sh", text: found[1]})
		}
	}
	return all
}

// shown returns the commands behind the prompts of a transcript.
func shown(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all.WriteString(command)
		}
	}
	return all.String()
}

// taken returns the program's error about the flags and arguments. It runs nothing.
func taken(program string, args []string) error {
	newRoot := map[string]func(*app.App) *cobra.Command{"redlock": root.Redlock, "redlock-demo": demoroot.Demo}[program]
	root := newRoot(&app.App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// commands returns the simple commands of a shell script, as words without quotes. It
// knows only what the pages use of the shell.
func commands(script string) [][]string {
	script = strings.ReplaceAll(script, "\\\n", " ")
	var all [][]string
	var words []string
	var word strings.Builder
	var quote rune
	began, skip := false, false
	endWord := func() {
		if began && !skip {
			words = append(words, word.String())
		}
		if began {
			skip = false
		}
		word.Reset()
		began = false
	}
	endCommand := func() {
		endWord()
		for len(words) > 0 && prefixWord.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) > 0 {
			all = append(all, words)
		}
		words, skip = nil, false
	}
	commented := false
	for i, r := range script {
		switch {
		case commented:
			if commented = r != '\n'; !commented {
				endCommand()
			}
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, began = r, true
		case r == '#' && !began:
			commented = true
		case r == ' ' || r == '\t':
			endWord()
		case r == '\n' || r == ';' || r == '|' || r == '&' && !strings.HasSuffix(script[:i], ">"):
			endCommand()
		case r == '>' || r == '<': // the file is no argument
			if n := word.String(); began && n != "1" && n != "2" {
				endWord()
			} else {
				word.Reset()
			}
			began, skip = false, true
		default:
			word.WriteRune(r)
			began = true
		}
	}
	endCommand()
	return all
}

// prefixWord matches words before a command: a variable that is set for it, a word of the
// shell, the time in a crontab.
var prefixWord = regexp.MustCompile(`^([A-Z_]+=.*|do|then|else|if|while|export|!|\{|\(|[\d*/,-]+)$`)
