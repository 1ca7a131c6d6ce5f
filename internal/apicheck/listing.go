// Package apicheck lists what users of this repository's packages can name, so that
// a test can say when that changes.
package apicheck

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An entry is one exported declaration as text, and where it stands in the list.
type entry struct {
	group int    // constants, variables, functions, then types with their methods
	name  string // of the function, the type, or the first of a block
	text  string
}

// The groups, in their order.
const (
	constants = iota
	variables
	functions
	types
)

// Listing is the exported API of the package in a folder: all declarations without
// comments and bodies, in an order that does not depend on files. Files of all
// systems count. The error joins what the API must not have: a type of an internal
// package; and, in an exported type, an embedded unexported one with exported
// methods or fields, which would be a part of the API that is listed nowhere. ""
// for a command.
func Listing(dir string) (string, error) {
	files, fset, err := parse(dir)
	if err != nil || len(files) == 0 || files[0].Name.Name == "main" {
		return "", err
	}
	var entries []entry
	var faults []error
	promoting := promotes(files)
	for _, f := range files {
		faults = append(faults, embedded(fset, f, promoting)...)
		inside := internals(f)
		if !ast.FileExports(f) {
			continue
		}
		for _, d := range f.Decls {
			faults = append(faults, shown(fset, d, inside)...)
			if e, ok := entryOf(fset, d); ok {
				entries = append(entries, e)
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(a.group-b.group, cmp.Compare(a.name, b.name), cmp.Compare(a.text, b.text))
	})
	entries = slices.Compact(entries) // what each system declares for itself
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", files[0].Name.Name)
	for _, e := range entries {
		b.WriteString("\n" + e.text + "\n")
	}
	return b.String(), errors.Join(faults...)
}

// parse reads a package without its tests and comments.
func parse(dir string) (files []*ast.File, fset *token.FileSet, err error) {
	fset = token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	return files, fset, err
}

// entryOf is the entry of an exported declaration; false: it is none for users, as a
// method of an unexported type.
func entryOf(fset *token.FileSet, d ast.Decl) (entry, bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body = nil
		e := entry{group: functions, name: d.Name.Name, text: source(fset, d)}
		if d.Recv != nil {
			receiver := receiverName(d.Recv.List[0].Type)
			if !ast.IsExported(receiver) {
				return e, false
			}
			// Behind its type, since "." sorts behind nothing.
			e.group, e.name = types, receiver+"."+d.Name.Name
		}
		return e, true
	case *ast.GenDecl:
		switch first := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return entry{group: types, name: first.Name.Name, text: source(fset, d)}, true
		case *ast.ValueSpec:
			if d.Tok == token.CONST {
				return entry{group: constants, name: first.Names[0].Name, text: source(fset, d)}, true
			}
			withoutTexts(d)
			return entry{group: variables, name: first.Names[0].Name, text: source(fset, d)}, true
		}
	}
	return entry{}, false
}

// withoutTexts takes the arguments from what makes variables: texts of errors may
// change.
func withoutTexts(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		for _, value := range spec.(*ast.ValueSpec).Values {
			if call, ok := value.(*ast.CallExpr); ok {
				call.Args = nil
			}
		}
	}
}

func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// source prints a node as it is without the comments: these have left blank lines, and
// aligned what is between them.
func source(fset *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}).Fprint(&b, fset, node); err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		text := strings.TrimLeft(line, "\t")
		indent := line[:len(line)-len(text)]
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			lines = append(lines, indent+text)
		}
	}
	return strings.Join(lines, "\n")
}

// internals are the names under which a file imports internal packages.
func internals(f *ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil || !slices.Contains(strings.Split(path, "/"), "internal") {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = true
	}
	return names
}

// shown finds internal types in an exported declaration. The value of a variable may
// come from inside, for errors do; a constant's gives it its type.
func shown(fset *token.FileSet, d ast.Decl, inside map[string]bool) (faults []error) {
	gen, isGen := d.(*ast.GenDecl)
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv != nil && !ast.IsExported(receiverName(f.Recv.List[0].Type)) {
			return nil
		}
		f.Body = nil
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if isGen && gen.Tok == token.VAR && n.Type == nil {
				return false
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && inside[pkg.Name] {
				faults = append(faults, fmt.Errorf("%v: the API shows %s.%s, whose package is internal: make it a type of its own",
					fset.Position(n.Pos()), pkg.Name, n.Sel.Name))
			}
		}
		return true
	})
	return faults
}

// promotes names the unexported types that have exported methods or fields, or embed
// what may have some.
func promotes(files []*ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, f := range files {
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && m.Name.IsExported() {
				names[receiverName(m.Recv.List[0].Type)] = true
			}
		}
		for t, s := range structs(f) {
			for _, field := range s.Fields.List {
				exported := func(name *ast.Ident) bool { return name.IsExported() }
				if len(field.Names) == 0 || slices.ContainsFunc(field.Names, exported) {
					names[t.Name.Name] = true
				}
			}
		}
	}
	return names
}

// embedded finds unexported types that exported structs embed and that promote
// something.
func embedded(fset *token.FileSet, f *ast.File, promoting map[string]bool) (faults []error) {
	for t, s := range structs(f) {
		if !t.Name.IsExported() {
			continue
		}
		for _, field := range s.Fields.List {
			if name := receiverName(field.Type); len(field.Names) == 0 && promoting[name] && !ast.IsExported(name) {
				faults = append(faults, fmt.Errorf("%v: %s embeds %s, whose methods and fields become its own and are listed nowhere: name the field",
					fset.Position(field.Pos()), t.Name.Name, name))
			}
		}
	}
	return faults
}

// structs ranges over the structs that a file declares.
func structs(f *ast.File) iter.Seq2[*ast.TypeSpec, *ast.StructType] {
	return func(yield func(*ast.TypeSpec, *ast.StructType) bool) {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if s, ok := t.Type.(*ast.StructType); ok && !yield(t, s) {
					return
				}
			}
		}
	}
}

// Packages finds the packages that users can import, as folders below root with
// slashes: those of the root module and of the modules below contrib.
func Packages(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		name := d.Name()
		_, moduleErr := os.Stat(filepath.Join(path, "go.mod"))
		switch {
		case dir == ".":
			return nil
		case strings.HasPrefix(name, "."), strings.HasPrefix(name, "_"), name == "internal", name == "testdata",
			moduleErr == nil && !strings.HasPrefix(dir, "contrib/"):
			return filepath.SkipDir
		}
		listing, err := Listing(path)
		if listing != "" {
			dirs = append(dirs, dir)
			return nil // what is wrong with it is told when it is listed
		}
		return err
	})
	return dirs, err
}
