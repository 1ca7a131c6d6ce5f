package apicheck

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever looks up how something is called finds it called in an example: each function
// of a package and each method of the types named here, by some Example of the package.
// What stands in own has an Example of its own, which pkg.go.dev shows beside it.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	for dir, want := range map[string]struct {
		types []string
		own   func(receiver, name string) bool
	}{
		"redlock": {[]string{"Client", "Lock", "RWMutex"}, func(receiver, name string) bool {
			return receiver == "Client" || name == "Open" || name == "New" || name == "WithPool" || name == "WithTrace"
		}},
		"pool": {[]string{"Pool"}, func(receiver, name string) bool {
			return name == "New" || name == "WithTLS" || name == "Stats"
		}},
		"redlock/redlocktest": {[]string{"Cluster"}, func(receiver, _ string) bool { return receiver == "" }},
	} {
		fset := token.NewFileSet()
		examples := parse(t, fset, filepath.Join(root, dir, "*example_test.go"))
		shown := make(map[string]bool)
		for _, e := range doc.Examples(examples...) {
			ast.Inspect(e.Code, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					shown[s.Sel.Name] = true
				}
				return true
			})
		}
		code := slices.DeleteFunc(parse(t, fset, filepath.Join(root, dir, "*.go")), func(f *ast.File) bool {
			return strings.HasSuffix(fset.File(f.FileStart).Name(), "_test.go")
		})
		p, err := doc.NewFromFiles(fset, append(code, examples...), dir)
		if err != nil {
			t.Fatal(err)
		}
		entries := p.Funcs
		for _, typ := range p.Types {
			entries = append(entries, typ.Funcs...)
			if slices.Contains(want.types, typ.Name) {
				entries = append(entries, typ.Methods...)
			}
		}
		for _, f := range entries {
			receiver := strings.TrimPrefix(f.Recv, "*")
			name := strings.TrimPrefix(receiver+"_"+f.Name, "_")
			switch {
			case want.own(receiver, f.Name) && len(f.Examples) == 0:
				t.Errorf("%s: there is no Example%s", dir, name)
			case !shown[f.Name] && !notShown[dir+" "+name]:
				t.Errorf("%s: no Example calls %s", dir, name)
			}
		}
		if len(entries) < 7 {
			t.Errorf("%s: %d entry points are found", dir, len(entries))
		}
	}
}

// notShown are those of which an example would say less than their comment.
var notShown = map[string]bool{
	"redlock WithClock":        true, // for tests; drift shows clocks
	"pool Pool_CommandTimeout": true, // what was set
}

func parse(t *testing.T, fset *token.FileSet, pattern string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
