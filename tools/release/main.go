// Command release packs the modules that users import as a module proxy serves them.
// scripts/release.sh and scripts/release-check.sh call it.
//
//	release REVISION VERSION DIR
//
// It reads the git repository at whose top it is called, and packs the files that the
// revision has: the root module, and those below contrib, all as VERSION. DIR is laid
// out as go help goproxy describes it, and GOPROXY=file://DIR serves it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// rootPath is the module at the top of the repository.
const rootPath = "github.com/redquorum/redquorum"

// maxZip bounds a module's zip: whoever imports the module downloads it.
const maxZip = 2 << 20

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: release REVISION VERSION DIR")
		os.Exit(2)
	}
	if err := packAll(".", os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// packAll packs the root module and those below contrib. The others (tests, benchmarks,
// examples, tools) are nobody's dependency.
func packAll(repository, revision, version, to string) error {
	files, err := git(repository, "ls-tree", "-r", "--name-only", revision, "go.mod", "contrib")
	if err != nil {
		return err
	}
	for file := range strings.FieldsSeq(files) {
		if file != "go.mod" && strings.Count(file, "/") != 2 || !strings.HasSuffix(file, "go.mod") {
			continue
		}
		dir := strings.Trim(strings.TrimSuffix(file, "go.mod"), "/")
		m := module.Version{Path: strings.Trim(rootPath+"/"+dir, "/"), Version: version}
		size, err := pack(repository, revision, dir, m, to)
		if err != nil {
			return err
		}
		fmt.Printf("packed %s: %d kB\n", m, (size+1023)/1024)
		if size > maxZip {
			return fmt.Errorf("%s: its zip has %d bytes, more than %d", m, size, maxZip)
		}
	}
	return nil
}

// pack packs the module of a folder, and returns the size of its zip.
func pack(repository, revision, dir string, m module.Version, to string) (int64, error) {
	committed, err := git(repository, "log", "-1", "--format=%cI", revision)
	if err != nil {
		return 0, err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(committed))
	if err != nil {
		return 0, err
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": at.UTC()})
	if err != nil {
		return 0, err
	}
	mod, err := git(repository, "show", revision+":"+strings.TrimPrefix(dir+"/go.mod", "/"))
	if err != nil {
		return 0, err
	}
	base := filepath.Join(to, filepath.FromSlash(m.Path), "@v") // no path has a capital letter, which would be escaped
	if err := os.MkdirAll(base, 0o755); err != nil {
		return 0, err
	}
	for name, text := range map[string]string{"list": m.Version + "\n", m.Version + ".info": string(info), m.Version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			return 0, err
		}
	}
	zipped, err := os.Create(filepath.Join(base, m.Version+".zip"))
	if err != nil {
		return 0, err
	}
	err = zip.CreateFromVCS(zipped, m, repository, revision, dir)
	stat, statErr := zipped.Stat()
	if err := errors.Join(err, statErr, zipped.Close()); err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

func git(repository string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stderr = repository, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
