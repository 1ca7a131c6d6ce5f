package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// maxZip bounds a module's zip: whoever imports the module downloads it.
const maxZip = 2 << 20

// pack writes the modules at their tags of version into dir, as `go help
// goproxy` describes it: GOPROXY=file://dir serves them.
func pack(root, version, dir string, out io.Writer) error {
	modules, err := published(root)
	if err != nil {
		return err
	}
	for _, m := range modules {
		size, err := m.pack(root, version, dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "packed %s %s: %d kB\n", m.path, version, (size+1023)/1024)
		if size > maxZip {
			return fmt.Errorf("%s %s: its zip has %d bytes, more than %d", m.path, version, size, maxZip)
		}
	}
	return nil
}

// pack writes one module, and returns the size of its zip.
func (m publishedModule) pack(root, version, dir string) (int64, error) {
	tag := m.tag(version)
	committed, err := git(root, "log", "-1", "--format=%cI", "refs/tags/"+tag)
	if err != nil {
		return 0, err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(committed))
	if err != nil {
		return 0, err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, at.UTC()})
	if err != nil {
		return 0, err
	}
	mod, err := git(root, "show", "refs/tags/"+tag+":"+strings.TrimPrefix(m.dir+"/go.mod", "/"))
	if err != nil {
		return 0, err
	}

	escaped, err := module.EscapePath(m.path)
	if err != nil {
		return 0, err
	}
	base := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return 0, err
	}
	for _, file := range []struct{ name, text string }{
		{"list", version + "\n"},
		{version + ".info", string(info)},
		{version + ".mod", mod},
	} {
		if err := os.WriteFile(filepath.Join(base, file.name), []byte(file.text), 0o644); err != nil {
			return 0, err
		}
	}
	name := filepath.Join(base, version+".zip")
	if err := createZip(name, root, module.Version{Path: m.path, Version: version}, "refs/tags/"+tag, m.dir); err != nil {
		return 0, err
	}
	zipped, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return zipped.Size(), nil
}

// createZip packs the files that a revision has in dir, as the go command does.
func createZip(name, root string, m module.Version, revision, dir string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromVCS(f, m, root, revision, dir), f.Close())
}
