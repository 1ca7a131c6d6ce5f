// Package apicheck keeps in testdata what go doc -all says of the packages that users
// import, so that a test says when it changes.
package apicheck

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages of testdata anew")

const (
	root   = "../.."
	module = "github.com/redquorum/redquorum"
)

// Programs compile against these pages, and people read them. Whoever changes one does
// so knowingly: the change stands in the commit, beside that of the code.
func TestUsersReadWhatThePagesSay(t *testing.T) {
	kept, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for dir, now := range pages(t) {
		golden := filepath.Join("testdata", strings.ReplaceAll(dir, "/", "_")+".txt")
		notForUsers(t, dir, now)
		if *update {
			if err := os.WriteFile(golden, []byte(now), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%s is a new package: if users are to import it, go test ./internal/apicheck -update (%v)", dir, err)
		} else if string(before) != now {
			t.Errorf("what go doc says of %s has changed:\n- %s\n+ %s\nWhat programs name today may not go away (docs/reference/servers.md). If the change is meant: "+
				"go test ./internal/apicheck -update; git diff shows it", dir, only(string(before), now), only(now, string(before)))
		}
		kept = slices.DeleteFunc(kept, func(name string) bool { return name == golden })
	}
	for _, golden := range kept {
		t.Errorf("%s is of a package that is gone: programs import it", golden)
	}
}

// pages has what go doc says of all that users can import, by folder: of the root module,
// and of the modules below contrib, for which the tree takes the place of the release
// that they require.
func pages(t *testing.T) map[string]string {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	contrib, err := filepath.Glob(filepath.Join(top, "contrib", "*", "go.mod"))
	if err != nil || len(contrib) < 3 {
		t.Fatal(contrib, err)
	}
	for i, mod := range contrib {
		contrib[i] = filepath.Dir(mod)
	}
	work := filepath.Join(t.TempDir(), "go.work")
	goCommand(t, work, top, append([]string{"work", "init"}, contrib...)...)
	goCommand(t, work, top, "work", "edit", "-replace="+module+"="+top)

	all := make(map[string]string)
	add := func(work, dir string) {
		listed := goCommand(t, work, dir, "list", "-f", `{{if ne .Name "main"}}{{.Dir}}{{end}}`, "./...")
		for _, path := range strings.Fields(listed) {
			dir, err := filepath.Rel(top, path)
			if err != nil {
				t.Fatal(err)
			}
			if dir = filepath.ToSlash(dir); !slices.Contains(strings.Split(dir, "/"), "internal") {
				all[dir] = goCommand(t, work, path, "doc", "-all", ".")
			}
		}
	}
	add("off", top)
	for _, dir := range contrib {
		add(work, dir)
	}
	return all
}

// goCommand has the go command see what users of Linux see.
func goCommand(t *testing.T, work, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=linux", "GOFLAGS=", "GOWORK="+work)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v in %s: %v", args, dir, err)
	}
	return string(out)
}

// only are the lines that one text has and another has not.
func only(text, other string) string {
	others := strings.Split(other, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return slices.Contains(others, line) }), "\n")
}

var (
	// What only people with this repository before them understand: numbers of rules
	// (S6) and names of files.
	forbidden = regexp.MustCompile(`\b[SLR][0-9]\b|\b[\w-]+\.(md|lua|go)\b`)
	// The value of a variable may come from inside; errors do.
	sentinel = regexp.MustCompile(`= \w+\.Err\w+`)
)

// notForUsers finds on a page what only this repository has: its rules, files and
// internal packages.
func notForUsers(t *testing.T, dir, page string) {
	t.Helper()
	rooms, err := filepath.Glob(filepath.Join(root, "internal", "*"))
	if err != nil || len(rooms) == 0 {
		t.Fatal(rooms, err)
	}
	for i, room := range rooms {
		rooms[i] = filepath.Base(room)
	}
	inside := regexp.MustCompile(`\b(` + strings.Join(rooms, "|") + `)\.[A-Z]\w*`)
	for _, found := range slices.Concat(forbidden.FindAllString(page, -1), inside.FindAllString(sentinel.ReplaceAllString(page, ""), -1)) {
		t.Errorf("go doc of %s names %s, which its users do not have", dir, found)
	}
}
