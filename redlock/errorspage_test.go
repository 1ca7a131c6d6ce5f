package redlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of errors has a row for every sentinel and every type of error that a user
// can name, and no other.
func TestErrorsPageHasEveryError(t *testing.T) {
	const page = "../docs/reference/errors.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, found := range regexp.MustCompile("(?m)^\\| `\\*?((?:redlock|pool)\\.\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		if rows[found[1]] {
			t.Errorf("%s has two rows for %s", page, found[1])
		}
		rows[found[1]] = true
	}
	found := 0
	for name, folder := range map[string]string{"redlock": ".", "pool": "../pool"} {
		for _, exported := range exportedErrors(t, folder) {
			found++
			if !rows[name+"."+exported] {
				t.Errorf("%s has no row for %s.%s", page, name, exported)
			}
			delete(rows, name+"."+exported)
		}
	}
	for name := range rows {
		t.Errorf("%s has a row for %s, which there is not", page, name)
	}
	if found < 20 {
		t.Errorf("%d errors are found: too few to be all", found)
	}
}

// exportedErrors are a package's variables Err… and types …Error.
func exportedErrors(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range group.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && strings.HasSuffix(s.Name.Name, "Error") {
						names = append(names, s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if group.Tok == token.VAR && strings.HasPrefix(n.Name, "Err") {
							names = append(names, n.Name)
						}
					}
				}
			}
		}
	}
	return names
}
