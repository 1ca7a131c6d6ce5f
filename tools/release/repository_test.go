package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

const nestedMod = `module github.com/redquorum/redquorum/contrib/otel

go 1.26.0

require (
	example.test/dependency v1.0.0
	github.com/redquorum/redquorum v0.1.0
)
`

const nestedSum = `example.test/dependency v1.0.0 h1:AAAA=
github.com/redquorum/redquorum v0.1.0 h1:old=
github.com/redquorum/redquorum v0.1.0/go.mod h1:old=
github.com/rs/xid v1.10.0 h1:BBBB=
github.com/rs/xid v1.9.0 h1:CCCC=
`

// repository makes a git repository with a root and one nested module.
func repository(t *testing.T, nested string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module github.com/redquorum/redquorum\n\ngo 1.26\n",
		"LICENSE":              "Apache-2.0\n",
		"redlock/lock.go":      "package redlock\n",
		"CHANGELOG.md":         "## 0.2.0 (unreleased)\n\n- New.\n",
		"contrib/otel/go.mod":  nested,
		"contrib/otel/go.sum":  nestedSum,
		"contrib/otel/otel.go": "package redlockotel\n",
		"bench/go.mod":         "module github.com/redquorum/redquorum/bench\n\nreplace github.com/redquorum/redquorum => ../\n",
	} {
		write(t, filepath.Join(root, name), text)
	}
	inGit(t, root, "init", "-q")
	inGit(t, root, "add", "-A")
	commit(t, root)
	return root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
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

func inGit(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	inGit(t, root, "-c", "user.name=A", "-c", "user.email=a@example.test", "commit", "-q", "-a", "-m", "All")
}

func TestAReplaceInAModuleThatUsersImportIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ mod, want string }{
		"publishable": {nestedMod, ""},
		"replace":     {nestedMod + "\nreplace github.com/redquorum/redquorum => ../../\n", "replace"},
		"no release":  {strings.Replace(nestedMod, "v0.1.0", "v0.0.0", 1), "v0.0.0"},
		"a commit":    {strings.Replace(nestedMod, "v0.1.0", "v0.0.0-20261123000000-0123456789ab", 1), "release like"},
		"no root":     {strings.Replace(nestedMod, "\tgithub.com/redquorum/redquorum v0.1.0\n", "", 1), "does not require"},
		"other path":  {strings.Replace(nestedMod, "contrib/otel", "contrib/telemetry", 1), "has to be"},
	} {
		t.Run(name, func(t *testing.T) {
			err := check(repository(t, c.mod))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestThePreparedSumsAreThoseOfThePackedRoot(t *testing.T) {
	root := repository(t, nestedMod)
	if err := run(root, []string{"prepare", "v0.2.0", "2026-12-01"}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	commit(t, root)
	inGit(t, root, "tag", "v0.2.0")
	inGit(t, root, "tag", "contrib/otel/v0.2.0")
	proxy := t.TempDir()
	if err := run(root, []string{"pack", "v0.2.0", proxy}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}

	base := filepath.Join(proxy, "github.com/redquorum/redquorum/@v")
	whole, err := dirhash.HashZip(filepath.Join(base, "v0.2.0.zip"), dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	sums := read(t, filepath.Join(root, "contrib/otel/go.sum"))
	if line := "github.com/redquorum/redquorum v0.2.0 " + whole + "\n"; !strings.Contains(sums, line) {
		t.Errorf("no line %q in\n%s", line, sums)
	}
	if strings.Contains(sums, "v0.1.0") {
		t.Errorf("an old sum of the root is left in\n%s", sums)
	}
	if read(t, filepath.Join(base, "list")) != "v0.2.0\n" {
		t.Error("the list of versions is not the one that was packed")
	}
}

func TestAPackedModuleHasItsOwnFilesAndTheLicense(t *testing.T) {
	root := repository(t, nestedMod)
	write(t, filepath.Join(root, "contrib/otel/leftover.go"), "package broken") // not committed
	inGit(t, root, "tag", "v0.1.0")
	inGit(t, root, "tag", "contrib/otel/v0.1.0")
	proxy := t.TempDir()
	if err := pack(root, "v0.1.0", proxy, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"":              {"CHANGELOG.md", "LICENSE", "go.mod", "redlock/lock.go"},
		"/contrib/otel": {"LICENSE", "go.mod", "go.sum", "otel.go"},
	} {
		m := module.Version{Path: rootPath + path, Version: "v0.1.0"}
		files, err := zip.CheckZip(m, filepath.Join(proxy, rootPath+path, "@v/v0.1.0.zip"))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range files.Valid {
			files.Valid[i] = strings.TrimPrefix(name, m.Path+"@v0.1.0/")
		}
		slices.Sort(files.Valid)
		if !slices.Equal(files.Valid, want) {
			t.Errorf("%s has %v, want %v", m.Path, files.Valid, want)
		}
	}
}

func TestSumsOfOtherModulesKeepTheirOrder(t *testing.T) {
	got := withSums(nestedSum, []string{rootPath + " v0.2.0 h1:new="})
	want := `example.test/dependency v1.0.0 h1:AAAA=
github.com/redquorum/redquorum v0.2.0 h1:new=
github.com/rs/xid v1.10.0 h1:BBBB=
github.com/rs/xid v1.9.0 h1:CCCC=
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
