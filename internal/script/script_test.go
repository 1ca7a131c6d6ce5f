package script

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryFileIsAScript(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source := bare(withReaders(withGuardedAcquire(withHandOver(withHeld(string(b))))))
		part := func(s *Script) bool { return strings.Contains(s.Source, source) }
		if !slices.ContainsFunc(All, part) {
			t.Errorf("%s is in no script", file)
		}
		whole := func(s *Script) bool { return s.Name+".lua" == file && s.Source == source }
		if !isPart(file) && !slices.ContainsFunc(All, whole) {
			t.Errorf("%s is not a script by itself", file)
		}
	}
	seen := make(map[string]bool)
	for _, s := range All {
		if seen[s.SHA] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.SHA] = true
	}
}

// isPart reports whether a file is put together with others.
func isPart(file string) bool {
	return strings.HasPrefix(file, "guarded") || slices.Contains([]string{"handover.lua", "held.lua", "phases.lua", "intents.lua", "readers.lua", "reader_handover.lua", "releaseset.lua", "releaseleases.lua"}, file)
}

// KEYS without an index means all of them, however many there are.
var parameter = regexp.MustCompile(`KEYS\b(\[\d+\])?|ARGV\[\d+\]`)

// Callers of a script read only its head.
func TestEveryScriptStatesWhatItTakesAndReturns(t *testing.T) {
	for _, s := range All {
		if isPart(s.Name + ".lua") {
			continue // it consists of files that each state it
		}
		own, err := os.ReadFile(s.Name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		head := ""
		for line := range strings.Lines(string(own)) {
			if !strings.HasPrefix(line, "-- ") {
				break
			}
			head += line
		}
		if !strings.Contains(head, "Returns ") {
			t.Errorf("%s: its head does not say what it returns:\n%s", s.Name, head)
		}
		stated := parameter.FindAllString(head, -1)
		used := parameter.FindAllString(s.Source, -1)
		for _, all := range []*[]string{&stated, &used} {
			slices.Sort(*all)
			*all = slices.Compact(*all)
		}
		if !slices.Equal(stated, used) {
			t.Errorf("%s: its head states %v, its body uses %v", s.Name, stated, used)
		}
		if !slices.Contains(used, "KEYS[1]") && !slices.Contains(used, "KEYS") {
			t.Errorf("%s names no key, so a cluster or an ACL cannot know it", s.Name)
		}
	}
}

func TestArgsAreThoseOfEVALSHAAndEVAL(t *testing.T) {
	room := make([]any, 0, 6)
	args := Extend.Args(room, []string{"key"}, "token", 1000, "1")
	want := []any{Extend.SHA, 1, "key", "token", 1000, "1"}
	if !slices.Equal(args, want) {
		t.Errorf("EVALSHA %v, want %v", args, want)
	}
	if &args[0] != &room[:1][0] {
		t.Error("the slice that was given is not used")
	}
	eval := Extend.EvalArgs(args)
	if want[0] = any(Extend.Source); !slices.Equal(eval, want) {
		t.Errorf("EVAL %v, want %v", eval, want)
	}
	if args[0] != any(Extend.SHA) {
		t.Error("EvalArgs changed the arguments of EVALSHA, which are shared between calls")
	}
	if got := Holder.Args(nil, []string{"key"}); !slices.Equal(got, []any{Holder.SHA, 1, "key"}) {
		t.Errorf("EVALSHA %v", got)
	}
}
