package redsync_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A program that uses redsync compiles with this package, because it has all that redsync
// exports, with the same parameters and results.
func TestEveryExportedNameOfRedsyncIsHere(t *testing.T) {
	theirs, ours := exported(t, redsyncDir(t)), exported(t, ".")
	if len(theirs) < 30 {
		t.Fatalf("redsync exports only %v", theirs)
	}
	for name, signature := range theirs {
		got, found := ours[name]
		switch {
		case !found:
			t.Errorf("%s is missing", name)
		case got != signature && signature != "":
			t.Errorf("%s%s, in redsync %s", name, got, signature)
		}
	}
}

// exported returns what the package in dir exports, with the signatures of functions.
// Methods are named Type.Method; those of aliases are not listed.
func exported(t *testing.T, dir string) map[string]string {
	t.Helper()
	names := make(map[string]string)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			addExported(names, decl)
		}
	}
	return names
}

func addExported(names map[string]string, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = strings.TrimPrefix(list(d.Recv), "*") + "." + name
			// The error types are redsync's own.
			if strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "RedisError") {
				return
			}
		}
		if d.Name.IsExported() {
			names[name] = signature(d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names[s.Name.Name] = ""
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						names[n.Name] = ""
					}
				}
			}
		}
	}
}

// signature returns the types of parameters and results, without their names.
func signature(f *ast.FuncType) string {
	return "(" + list(f.Params) + ") (" + list(f.Results) + ")"
}

func list(fields *ast.FieldList) string {
	var all []string
	if fields != nil {
		for _, f := range fields.List {
			for range max(len(f.Names), 1) {
				all = append(all, types.ExprString(f.Type))
			}
		}
	}
	return strings.Join(all, ", ")
}

func TestTheMigrationGuideNamesWhatRedsyncExports(t *testing.T) {
	guide, err := os.ReadFile("../../docs/how-to/migrating-from-redsync.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exported(t, redsyncDir(t)) {
		if _, method, found := strings.Cut(name, "."); found {
			name = method
		}
		if !regexp.MustCompile("`" + name + "[`(]").Match(guide) {
			t.Errorf("the guide does not tell of %s", name)
		}
	}
}
