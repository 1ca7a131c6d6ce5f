package pages

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// around is the file around the fragments of the pages. It declares the names that they use and
// do not declare, as such a program would.
const around = `package page

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redquorum/redquorum/contrib/otel"
	"github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

var (
	ctx               context.Context
	client, old, five *redlock.Client
	next              *redlock.Client
	urls              []string
	key               string
	db                *sql.DB
	mutex             *redsync.Mutex
	slow              interface{ Observe(time.Duration) }
	err               error
	t                 *testing.T
)

func charge(context.Context) error        { return nil }
func paid(context.Context, string) bool   { return false }
func book(context.Context) error          { return nil }
func lead(context.Context) error          { return nil }
func report(context.Context) error        { return nil }
func serve(context.Context, string) error { return nil }
func work(context.Context, string)        {}
func page(string, error)                  {}

`

// Every block of Go in the documentation compiles: whole programs as they are, and fragments in
// a function. The fragments of a page follow each other, each in a scope inside the one before.
// So a later one may use what an earlier one has declared. A line with … alone replaces code
// that is left out.
func TestCodeOfThePagesCompiles(t *testing.T) {
	exports := exportData(t)
	checked := 0
	for _, page := range documentation(t) {
		var fragments []fragment
		for _, f := range goBlocks(t, page) {
			checked++
			if strings.HasPrefix(f.text, "package ") {
				compile(t, exports, page, f.text)
				continue
			}
			fragments = append(fragments, f)
		}
		if len(fragments) > 0 {
			compile(t, exports, page, wrapped(page, fragments))
		}
	}
	if checked < 25 {
		t.Errorf("%d blocks of Go: too few to be all", checked)
	}
}

// documentation is the pages with code for users.
func documentation(t *testing.T) []string {
	t.Helper()
	return append(pagesOf(t, "../../docs"), "../../README.md")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A fragment is a block of Go.
type fragment struct {
	line int // where it begins, in the page
	text string
}

func goBlocks(t *testing.T, page string) []fragment {
	t.Helper()
	var all []fragment
	var open *fragment
	n := 0
	for line := range strings.Lines(read(t, page)) {
		n++
		switch fence := strings.TrimSpace(line); {
		case open == nil && fence == "```go":
			open = &fragment{line: n + 1}
		case open != nil && fence == "```":
			all, open = append(all, *open), nil
		case open != nil && fence == "…":
			open.text += "\n"
		case open != nil:
			open.text += line
		}
	}
	return all
}

// importLine is an import in a fragment, which says where a name comes from.
var importLine = regexp.MustCompile(`(?m)^import "[^"]+".*$`)

// wrapped makes a file of fragments.
func wrapped(page string, fragments []fragment) string {
	var b strings.Builder
	b.WriteString(around + "func _() error {\n")
	for _, f := range fragments {
		fmt.Fprintf(&b, "{\n//line %s:%d\n%s\n", page, f.line, importLine.ReplaceAllString(f.text, ""))
	}
	b.WriteString(strings.Repeat("}\n", len(fragments)) + "return nil\n}\n")
	return b.String()
}

func compile(t *testing.T, exports map[string]string, page, text string) {
	t.Helper()
	for _, err := range check(exports, page, text) {
		t.Error(err)
	}
}

// check returns the errors of a file. Unused names are no errors here: a fragment may be only a
// part.
func check(exports map[string]string, page, text string) (errs []error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, page, text, parser.SkipObjectResolution)
	if err != nil {
		return []error{err}
	}
	config := types.Config{
		Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			if exports[path] == "" {
				return nil, fmt.Errorf("package %s is not among those that exportData builds", path)
			}
			return os.Open(exports[path])
		}),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); !ok || !e.Soft {
				errs = append(errs, err)
			}
		},
	}
	_, _ = config.Check("page", fset, []*ast.File{file}, nil) // errors come one by one
	return errs
}

// exportData builds what the pages import, and returns the compiler's files by path. The
// modules below contrib/ require a release of the root: a workspace replaces that by this tree,
// as scripts/in-tree.sh does.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/redquorum/redquorum"
	contrib := []string{"otel", "prometheus", "redsync"}
	work := fmt.Sprintf("go 1.26.0\n\nreplace %[1]s => %[2]s\n\nreplace %[1]s/contrib/goredis => %[2]s/contrib/goredis\n\n", module, root)
	list := []string{
		"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "database/sql", "net/http", "os/signal", "testing",
		module + "/redlock/redlocktest", module + "/contrib/goredis",
	}
	for _, name := range contrib {
		work += fmt.Sprintf("use %s\n", filepath.Join(root, "contrib", name))
		list = append(list, module+"/contrib/"+name)
	}
	file := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(file, []byte(work), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", list...)
	cmd.Dir = filepath.Join(root, "contrib", contrib[0])
	cmd.Env = append(os.Environ(), "GOWORK="+file)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return exports
}
