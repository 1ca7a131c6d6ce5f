package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func TestAPackedModuleHasItsOwnFilesAndTheLicense(t *testing.T) {
	repository, proxy := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module "+rootPath+"\n")
	write("LICENSE", "Apache-2.0\n")
	write("redlock/lock.go", "package redlock\n")
	write("bench/go.mod", "module "+rootPath+"/bench\n")
	write("contrib/otel/go.mod", "module "+rootPath+"/contrib/otel\n")
	write("contrib/otel/otel.go", "package redlockotel\n")
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{"-c", "user.name=A", "-c", "user.email=a@example.test", "commit", "-q", "-m", "All"},
		{"tag", "v0.1.0"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("contrib/otel/leftover.go", "package broken") // not committed
	if err := packAll(repository, "v0.1.0", "v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"":              {"LICENSE", "go.mod", "redlock/lock.go"},
		"/contrib/otel": {"LICENSE", "go.mod", "otel.go"},
	} {
		m := module.Version{Path: rootPath + path, Version: "v0.1.0"}
		base := filepath.Join(proxy, rootPath+path, "@v")
		files, err := zip.CheckZip(m, filepath.Join(base, "v0.1.0.zip"))
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
		if list, err := os.ReadFile(filepath.Join(base, "list")); string(list) != "v0.1.0\n" {
			t.Errorf("the list of versions of %s is %q, %v", m.Path, list, err)
		}
	}
	if _, err := os.Stat(filepath.Join(proxy, rootPath, "bench")); !os.IsNotExist(err) {
		t.Errorf("error %v: want that nobody's dependency is not packed", err)
	}
}
