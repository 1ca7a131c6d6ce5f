package mutants

import (
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the directory of the module whose source is edited.
const root = "../../.."

// An edit replaces a piece of a source file, Go or Lua.
type edit struct {
	file string // from the root of the module
	old  string // occurs in the file exactly once
	new  string
}

// addFile is an edit that adds a file to the module: a copy of the named file in testdata.
func addFile(file, name string) edit { return edit{file: file, new: filepath.Join("testdata", name)} }

func (e *edit) adds() bool { return e.old == "" }

// apply makes the edits, in order. It returns the new text of each file, by its
// path from dir. The error names the file.
func apply(dir string, edits []edit) (map[string]string, error) {
	texts := make(map[string]string)
	for _, e := range edits {
		path := filepath.Join(dir, filepath.FromSlash(e.file))
		if e.adds() {
			if _, err := os.Lstat(path); err == nil || texts[e.file] != "" {
				return nil, fmt.Errorf("%s: the file exists already, so it cannot be added", e.file)
			}
			added, err := os.ReadFile(e.new)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.file, err)
			}
			texts[e.file] = string(added)
			continue
		}
		text, edited := texts[e.file]
		if !edited {
			original, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.file, err)
			}
			text = string(original)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%s: the old text occurs %d times, want once: %q", e.file, n, e.old)
		}
		changed := strings.Replace(text, e.old, e.new, 1)
		if code(e.file, text) == code(e.file, changed) {
			return nil, fmt.Errorf("%s: the edit changes no code: %q becomes %q", e.file, e.old, e.new)
		}
		texts[e.file] = changed
	}
	return texts, nil
}

// code returns the text of a source file without comments and layout.
func code(name, text string) string {
	var b strings.Builder
	if filepath.Ext(name) != ".go" { // Lua; no text in it has two hyphens
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "--")
			for _, word := range strings.Fields(line) {
				b.WriteString(word + "\n")
			}
		}
		return b.String()
	}
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(name, -1, len(text)), []byte(text), func(token.Position, string) {}, 0)
	for {
		_, t, literal := s.Scan()
		switch t {
		case token.EOF:
			return b.String()
		case token.SEMICOLON: // ends of lines are semicolons, where they matter
		default:
			fmt.Fprintln(&b, t, literal)
		}
	}
}

// overlay makes the edits of a mutant, writes the file that the go command's -overlay wants
// into dir, and returns its name.
func overlay(dir string, edits []edit) (name string, err error) {
	texts, err := apply(root, edits)
	if err != nil {
		return "", err
	}
	replace := make(map[string]string)
	for file, text := range texts {
		original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	config, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, config, 0o600)
}

func TestAnEditAppliesOnceAndChangesCodeOrFails(t *testing.T) {
	const goText = "package p\n\n// f is 1.\nfunc f() int { return 1 }\n\nfunc g() int { return 1 }\n"
	const luaText = "-- Returns 1.\nif held == token then return 1 end\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"p.go": goText, "p.lua": luaText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what  string
		edits []edit
		want  string // in the error; "": none
	}{
		{"a Go edit", []edit{{"p.go", "f() int { return 1", "f() int { return 2"}}, ""},
		{"a Lua edit", []edit{{"p.lua", "held == token", "held"}}, ""},
		{"two edits of one file", []edit{{"p.go", "f() int { return 1", "f() int { return 2"}, {"p.go", "return 1", "return 3"}}, ""},
		{"a new file", []edit{addFile("q.go", "late_reply.go")}, ""},
		{"a text that does not occur", []edit{{"p.go", "return 4", "return 5"}}, "p.go: the old text occurs 0 times"},
		{"a text that occurs twice", []edit{{"p.go", "return 1", "return 2"}}, "p.go: the old text occurs 2 times"},
		{"a text replaced by itself", []edit{{"p.go", "f() int", "f() int"}}, "p.go: the edit changes no code"},
		{"a Go comment", []edit{{"p.go", "// f is 1.", "// f is one."}}, "p.go: the edit changes no code"},
		{"a Lua comment", []edit{{"p.lua", "-- Returns 1.", "-- Says 1."}}, "p.lua: the edit changes no code"},
		{"layout", []edit{{"p.go", "f() int { return 1 }", "f() int {\n\treturn 1\n}"}}, "p.go: the edit changes no code"},
		{"a file that does not exist", []edit{{"r.go", "a", "b"}}, "r.go"},
		{"a new file that exists already", []edit{addFile("p.go", "late_reply.go")}, "p.go: the file exists already"},
	} {
		texts, err := apply(dir, c.edits)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want == "" && len(texts) != 1:
			t.Errorf("%s: %d files changed, want one", c.what, len(texts))
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: the error is %v, want %q", c.what, err, c.want)
		}
	}
}
