package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These bounds keep small what a reader has to learn. If one is too narrow for a good reason,
// change it here, and say why.
const (
	exportedNames  = 125 // in package redlock: types, functions, methods, constants, variables
	roomsInside    = 18  // folders of internal/
	fieldsOfStruct = 22
	methodsOfType  = 40
)

// helpers are rooms for tests and for the demonstration.
var helpers = map[string]bool{"simmaster": true, "redistest": true, "testutil": true}

// parsed returns the files of a folder without tests, for every system.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	var files []*ast.File
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// receiver returns the type that a method belongs to, or "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name
}

func TestTheSurfaceStaysSmall(t *testing.T) {
	names := map[string]bool{} // a set: a function may have a file for each system
	add := func(prefix string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names[prefix+id.Name] = true
			}
		}
	}
	for _, f := range parsed(t, filepath.Join("../..", "redlock")) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); of == "" {
					add("", d.Name)
				} else if ast.IsExported(of) {
					add(of+".", d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add("", s.Name)
					case *ast.ValueSpec:
						add("", s.Names...)
					}
				}
			}
		}
	}
	if len(names) > exportedNames || len(names) < exportedNames*9/10 {
		t.Errorf("redlock exports %d names, want %d at most", len(names), exportedNames)
	}
}

func TestRoomsAndTheirTypesStaySmall(t *testing.T) {
	rooms, err := os.ReadDir(filepath.Join("../..", "internal"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, room := range rooms {
		if room.IsDir() {
			n++
		}
	}
	if n > roomsInside || n < roomsInside/2 {
		t.Errorf("internal/ has %d rooms, want %d at most", n, roomsInside)
	}
	err = filepath.WalkDir(filepath.Join("../..", "internal"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && helpers[d.Name()] {
			return fs.SkipDir
		}
		if err == nil && d.IsDir() {
			for name, size := range sizes(parsed(t, path)) {
				bound := methodsOfType
				if strings.HasSuffix(name, " fields") {
					bound = fieldsOfStruct
				}
				if size > bound {
					t.Errorf("%s: %d, want %d at most", name, size, bound)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sizes returns the numbers of methods and of fields of each type of a package.
func sizes(files []*ast.File) map[string]int {
	n := map[string]int{}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); of != "" {
					n[f.Name.Name+"."+of]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					of, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if of, ok := of.Type.(*ast.StructType); ok {
						n[f.Name.Name+"."+s.(*ast.TypeSpec).Name.Name+" fields"] += of.Fields.NumFields()
					}
				}
			}
		}
	}
	return n
}
