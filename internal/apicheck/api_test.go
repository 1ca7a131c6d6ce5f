package apicheck

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the listings of the exported API anew")

const root = "../.."

// Programs compile against what the listings say. Whoever changes it does so
// knowingly: the change of a listing stands in the commit, beside that of the code.
func TestTheExportedAPIIsWhatTheListingsSay(t *testing.T) {
	dirs, err := Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redlock", "pool", "drift", "redlock/redlocktest", "contrib/prometheus", "contrib/otel", "contrib/redsync"} {
		if !slices.Contains(dirs, want) {
			t.Errorf("%s is not among the packages that are checked: %v", want, dirs)
		}
	}
	known := make(map[string]bool)
	for _, dir := range dirs {
		golden := filepath.Join("testdata", strings.ReplaceAll(dir, "/", "_")+".txt")
		known[golden] = true
		now, err := Listing(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			t.Errorf("%s:\n%v", dir, err)
		}
		if *update {
			if err := os.WriteFile(golden, []byte(now), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		before, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%s is a new package: if users are to import it, go test ./internal/apicheck -update (%v)", dir, err)
			continue
		}
		if diff := difference(string(before), now); diff != "" {
			t.Errorf("the exported API of %s has changed:\n%s\nWhat programs name today may not go away (docs/reference/servers.md). If the change is meant: "+
				"go test ./internal/apicheck -update, and a line in CHANGELOG.md", dir, diff)
		}
	}
	goldens, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, golden := range goldens {
		if !known[golden] {
			t.Errorf("%s is of a package that is gone: programs import it", golden)
		}
	}
}

// difference is the lines that only one of two texts has; "": they are equal.
func difference(before, now string) string {
	if before == now {
		return ""
	}
	var diff []string
	only := func(sign, in, notIn string) {
		others := strings.Split(notIn, "\n")
		for line := range strings.SplitSeq(in, "\n") {
			if !slices.Contains(others, line) {
				diff = append(diff, sign+line)
			}
		}
	}
	only("- ", before, now)
	only("+ ", now, before)
	if diff == nil {
		return "the order of the lines, or how often one occurs"
	}
	return strings.Join(diff, "\n")
}

const before = `package p

import "errors"

// Limit is a comment.
const Limit = 5

const (
	KindA Kind = iota
	KindB
)

type Kind uint8

var ErrGone = errors.New("gone")

type Client struct {
	Name string
	n    int
}

type hidden struct{ Field int }

func (h *hidden) Method() {}

// New is a comment.
func New(name string) (*Client, error) { return &Client{Name: name}, nil }

func (c *Client) Close() error { return nil }

type Option interface {
	Apply()
	apply(c *Client)
}
`

func TestEveryChangeThatUsersSeeChangesTheListing(t *testing.T) {
	want := list(t, before)
	for name, change := range map[string][2]string{
		"a field is renamed":           {"Name string", "Title string"},
		"a field has another type":     {"Name string", "Name []byte"},
		"a field is added":             {"Name string", "Name string\n\tAge int"},
		"a parameter is added":         {"New(name string)", "New(name string, n int)"},
		"a parameter has another type": {"New(name string)", "New(name []byte)"},
		"a result is gone":             {"(*Client, error) { return &Client{Name: name}, nil }", "*Client { return &Client{Name: name} }"},
		"a method is gone":             {"func (c *Client) Close() error { return nil }", ""},
		"a method is added":            {"func (c *Client) Close()", "func (c *Client) Open() {}\n\nfunc (c *Client) Close()"},
		"a receiver is a value":        {"(c *Client) Close", "(c Client) Close"},
		"constants change places":      {"KindA Kind = iota\n\tKindB", "KindB Kind = iota\n\tKindA"},
		"a constant has another value": {"Limit = 5", "Limit = 6"},
		"a sentinel is gone":           {`var ErrGone = errors.New("gone")`, `var errGone = errors.New("gone")`},
		"an interface grows":           {"\tApply()", "\tApply()\n\tMore()"},
		"a type is an alias":           {"type Kind uint8", "type Kind = uint8"},
	} {
		if got := list(t, replaced(t, before, change)); got == want {
			t.Errorf("%s: the listing is the same", name)
		} else if difference(want, got) == "" {
			t.Errorf("%s: no difference is shown", name)
		}
	}
}

func TestWhatUsersDoNotSeeIsNotInTheListing(t *testing.T) {
	want := list(t, before)
	for name, change := range map[string][2]string{
		"a comment":                                {"// New is a comment.", "// New is another one."},
		"a comment that separates fields":          {"\tName string\n", "\tName string\n\t// A comment.\n\n\t// Another.\n"},
		"a body":                                   {"&Client{Name: name}, nil", "&Client{}, nil"},
		"an unexported field":                      {"\tn    int", "\tm    int"},
		"the text of an error":                     {`errors.New("gone")`, `errors.New("lost")`},
		"an unexported type":                       {"Field int", "Other int"},
		"an unexported method of an exported type": {"func (c *Client) Close()", "func (c *Client) close() {}\n\nfunc (c *Client) Close()"},
		"the order":                                {"type Kind uint8\n\nvar ErrGone = errors.New(\"gone\")", "var ErrGone = errors.New(\"gone\")\n\ntype Kind uint8"},
		"an unexported method of the interface":    {"\tapply(c *Client)", "\tapply(c *Client, n int)"},
	} {
		if got := list(t, replaced(t, before, change)); got != want {
			t.Errorf("%s: %s", name, difference(want, got))
		}
	}
}

func TestInternalAndEmbeddedTypesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"an alias":      "package p\n\nimport \"example.com/m/internal/in\"\n\ntype Stats = in.Stats\n",
		"a result":      "package p\n\nimport \"example.com/m/internal/in\"\n\nfunc F() []*in.Line { return nil }\n",
		"a renamed one": "package p\n\nimport other \"example.com/m/internal/in\"\n\nfunc F(other.Line) {}\n",
		"a field":       "package p\n\nimport \"example.com/m/internal/in\"\n\ntype T struct{ F in.Line }\n",
		"a constant":    "package p\n\nimport \"example.com/m/internal/in\"\n\nconst C = in.C\n",
		"a typed value": "package p\n\nimport \"example.com/m/internal/in\"\n\nvar V in.Line = in.New()\n",
		"an embedded":   "package p\n\ntype T struct{ inner }\n\ntype inner struct{}\n\nfunc (inner) Method() {}\n",
		"a pointer's":   "package p\n\ntype T struct{ *inner }\n\ntype inner struct{ Field int }\n",
	} {
		if _, err := Listing(folder(t, text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	fine := "package p\n\nimport \"example.com/m/internal/in\"\n\nvar ErrGone = in.ErrGone\n\ntype T struct{ f in.Line }\n\n" +
		"func F() { in.Do() }\n\nfunc g() in.Line { return in.Line{} }\n\ntype U struct{ quiet }\n\ntype quiet struct{ n int }\n\nfunc (quiet) m() {}\n\ntype h struct{}\n\nfunc (h) M() in.Line { return in.Line{} }\n"
	if _, err := Listing(folder(t, fine)); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func list(t *testing.T, text string) string {
	t.Helper()
	listing, err := Listing(folder(t, text))
	if err != nil || listing == "" {
		t.Fatalf("%q, %v", listing, err)
	}
	return listing
}

// folder has a package of one file.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func replaced(t *testing.T, text string, change [2]string) string {
	t.Helper()
	if strings.Count(text, change[0]) != 1 {
		t.Fatalf("%q occurs %d times", change[0], strings.Count(text, change[0]))
	}
	return strings.Replace(text, change[0], change[1], 1)
}
