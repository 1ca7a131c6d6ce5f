package apicheck

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever looks up how something is called finds it called in an example: each
// function and method of the types named here, by some Example of its package. What
// stands in own has an Example of its own, which pkg.go.dev shows beside it.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	for dir, want := range map[string]struct {
		receivers []string // "": functions
		own       func(receiver, name string) bool
	}{
		"redlock": {[]string{"", "Client", "Lock", "RWMutex"}, func(receiver, name string) bool {
			return receiver == "Client" || name == "Open" || name == "New" || name == "WithPool" || name == "WithTrace"
		}},
		"pool": {[]string{"", "Pool"}, func(receiver, name string) bool {
			return name == "New" || name == "WithTLS" || name == "Stats"
		}},
		"redlock/redlocktest": {[]string{"", "Cluster"}, func(receiver, _ string) bool { return receiver == "" }},
	} {
		shown, named := examples(t, dir)
		checked := 0
		for _, receiver := range want.receivers {
			for _, name := range exported(t, dir, receiver) {
				checked++
				example := strings.TrimPrefix(receiver+"_"+name, "_")
				switch {
				case want.own(receiver, name) && !named[example]:
					t.Errorf("%s: there is no Example%s", dir, example)
				case !shown[name] && !notShown[dir+" "+example]:
					t.Errorf("%s: no Example calls %s", dir, strings.ReplaceAll(example, "_", "."))
				}
			}
		}
		if checked < 7 {
			t.Errorf("%s: %d entry points are found", dir, checked)
		}
	}
}

// notShown are those of which an example would say less than their comment.
var notShown = map[string]bool{
	"redlock WithClock":        true, // for tests; drift shows clocks
	"pool Pool_CommandTimeout": true, // what was set
}

// exported are the functions of a package, or the methods of a type.
func exported(t *testing.T, dir, receiver string) (names []string) {
	t.Helper()
	files, _, err := parse(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			of := ""
			if fn.Recv != nil {
				of = receiverName(fn.Recv.List[0].Type)
			}
			if of == receiver {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// examples are the names that a package's examples call, and those that have one of
// their own.
func examples(t *testing.T, dir string) (shown, named map[string]bool) {
	t.Helper()
	shown, named = make(map[string]bool), make(map[string]bool)
	paths, err := filepath.Glob(filepath.Join(root, dir, "*example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples(f) {
			named[e.Name] = true
			ast.Inspect(e.Code, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					shown[s.Sel.Name] = true
				}
				return true
			})
		}
	}
	return shown, named
}
