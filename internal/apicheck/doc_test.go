package apicheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// forbidden is what only people with this repository before them understand: numbers of
// rules (S6) and names of files.
var forbidden = regexp.MustCompile(`\b[SLR][0-9]\b|\b[\w-]+\.(md|lua|go)\b`)

// Whoever reads go doc has the package, and not the repository.
func TestDocumentationOfTheAPINamesNoRuleAndNoFile(t *testing.T) {
	dirs, err := Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.FileExports(f)
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt:
					return false // of a function
				case *ast.CommentGroup:
					seen++
					if found := forbidden.FindString(n.Text()); found != "" {
						t.Errorf("%s: %s", fset.Position(n.Pos()), found)
					}
				}
				return true
			})
		}
	}
	if seen < 300 {
		t.Errorf("%d comments were seen: too few to be all", seen)
	}
}
