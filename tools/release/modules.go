package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// rootPath is the module at the top of the repository.
const rootPath = "github.com/redquorum/redquorum"

// A publishedModule is one that users import. All have the same version.
type publishedModule struct {
	dir  string // below the top of the repository, with slashes; "" for the root
	path string
}

// tag is the tag by which Go finds the module's version.
func (m publishedModule) tag(version string) string { return path.Join(m.dir, version) }

// published lists the modules that users import: the root, then those below
// contrib/. The others (tests, benchmarks, examples, tools) are nobody's
// dependency.
func published(root string) ([]publishedModule, error) {
	modules := []publishedModule{{"", rootPath}}
	files, err := filepath.Glob(filepath.Join(root, "contrib", "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		dir := "contrib/" + filepath.Base(filepath.Dir(file))
		modules = append(modules, publishedModule{dir, rootPath + "/" + dir})
	}
	return modules, nil
}

// readMod reads the module's go.mod as it stands in the tree.
func (m publishedModule) readMod(root string) (*modfile.File, error) {
	name := filepath.Join(root, filepath.FromSlash(m.dir), "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path.Join(m.dir, "go.mod"), text, nil)
}

// check says of all published modules what keeps `go get` from fetching them.
func check(root string) error {
	modules, err := published(root)
	if err != nil {
		return err
	}
	var failed []error
	for _, m := range modules {
		file, err := m.readMod(root)
		if err == nil {
			err = m.publishable(file)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// publishable says what is wrong with a go.mod. A replace works in the main
// module alone, so it hides from us what everybody else meets.
func (m publishedModule) publishable(file *modfile.File) error {
	name := file.Syntax.Name
	if file.Module == nil || file.Module.Mod.Path != m.path {
		return fmt.Errorf("%s: the module has to be %s", name, m.path)
	}
	if len(file.Replace) > 0 || len(file.Exclude) > 0 {
		return fmt.Errorf("%s: replace and exclude do not work for those who import the module", name)
	}
	if m.dir == "" {
		return nil
	}
	for _, r := range file.Require {
		if r.Mod.Path == rootPath {
			return releasable(name, r.Mod.Version)
		}
	}
	return fmt.Errorf("%s does not require %s", name, rootPath)
}

// releasable refuses what cannot be the version of a release.
func releasable(where, version string) error {
	switch {
	case !semver.IsValid(version) || semver.Canonical(version) != version:
		return fmt.Errorf("%s: %q is no version like v0.1.0", where, version)
	case module.IsPseudoVersion(version) || version == "v0.0.0":
		return fmt.Errorf("%s: %s is nothing that can be fetched; want a release like v0.1.0", where, version)
	case semver.Major(version) != "v0" && semver.Major(version) != "v1":
		return fmt.Errorf("%s: %s needs a module path that ends with /%s", where, version, semver.Major(version))
	}
	return nil
}
