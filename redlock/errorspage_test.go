package redlock_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// The page of errors has a row for every sentinel and every type of error that a user
// can name, and no other.
func TestErrorsPageHasEveryError(t *testing.T) {
	const page = "../docs/reference/errors.md"
	text := read(t, page)
	rows := make(map[string]bool)
	for _, found := range regexp.MustCompile("(?m)^\\| `\\*?((?:redlock|pool)\\.\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		if rows[found[1]] {
			t.Errorf("%s has two rows for %s", page, found[1])
		}
		rows[found[1]] = true
	}
	found := 0
	for _, name := range []string{"redlock", "pool"} {
		for _, exported := range exportedNames(t, name, `(?:\t|var )(Err\w+) =|type (\w+Error|Holder) `) {
			found++
			if !rows[name+"."+exported[1]+exported[2]] {
				t.Errorf("%s has no row for %s.%s", page, name, exported[1]+exported[2])
			}
			delete(rows, name+"."+exported[1]+exported[2])
		}
	}
	for name := range rows {
		t.Errorf("%s has a row for %s, which there is not", page, name)
	}
	if found < 20 {
		t.Errorf("%d errors are found: too few to be all", found)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exportedNames finds pattern at the beginnings of lines in the output of go doc for a package.
func exportedNames(t *testing.T, name, pattern string) [][]string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", "doc", "-all", "../"+name).Output()
	if err != nil {
		t.Fatalf("go doc: %v", err)
	}
	return regexp.MustCompile("(?m)^(?:"+pattern+")").FindAllStringSubmatch(string(text), -1)
}
