package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
)

// requireRoot has the nested modules require version of the root, and writes
// its checksums into their go.sum files. These can be known before the version
// is published: no file of a nested module is part of the root's zip.
func requireRoot(root, version string) error {
	if err := releasable("the release", version); err != nil {
		return err
	}
	modules, err := published(root)
	if err != nil {
		return err
	}
	sums, err := rootSums(root, version)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if m.dir == "" {
			continue
		}
		if err := m.require(root, version); err != nil {
			return err
		}
		if err := m.writeSums(root, sums); err != nil {
			return err
		}
	}
	return nil
}

func (m publishedModule) require(root, version string) error {
	file, err := m.readMod(root)
	if err != nil {
		return err
	}
	if err := file.AddRequire(rootPath, version); err != nil {
		return err
	}
	text, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(m.dir), "go.mod"), text, 0o644)
}

// writeSums puts the root's sums in the place of what go.sum has of it.
func (m publishedModule) writeSums(root string, sums []string) error {
	name := filepath.Join(root, filepath.FromSlash(m.dir), "go.sum")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(withSums(string(text), sums)), 0o644)
}

// withSums keeps the order of the other lines: the go command has one of its own
// for the versions of a module.
func withSums(text string, sums []string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, rootPath+" ")
	})
	at := slices.IndexFunc(lines, func(line string) bool { return line > rootPath })
	if at < 0 {
		at = len(lines)
	}
	return strings.Join(slices.Insert(lines, at, sums...), "\n") + "\n"
}

// rootSums is what go.sum says of the root at version, if the tracked files of
// the working tree are committed and tagged as they are.
func rootSums(root, version string) ([]string, error) {
	revision, err := workingTree(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "root.zip")
	if err := createZip(name, root, module.Version{Path: rootPath, Version: version}, revision, ""); err != nil {
		return nil, err
	}
	whole, err := dirhash.HashZip(name, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	alone, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(mod)), nil
	})
	if err != nil {
		return nil, err
	}
	return []string{
		rootPath + " " + version + " " + whole,
		rootPath + " " + version + "/go.mod " + alone,
	}, nil
}

// workingTree stages the tracked files and names the tree that they make.
func workingTree(root string) (string, error) {
	if _, err := git(root, "add", "--update"); err != nil {
		return "", err
	}
	tree, err := git(root, "write-tree")
	return strings.TrimSpace(tree), err
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return string(out), nil
}
