package redlock_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const troubleshooting = "../docs/how-to/troubleshooting.md"

// knownTexts are texts of errors as users get them.
func knownTexts(t *testing.T) []string {
	var texts []string
	for _, err := range []error{
		redlock.ErrTaken, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrNotHeld, redlock.ErrUnlocked,
		redlock.ErrReentrant, redlock.ErrClosed, redlock.ErrNotAwaited,
		pool.ErrTimeout, pool.ErrStalled, pool.ErrQueueFull, pool.ErrProtocol, pool.ErrClosed,
		fmt.Errorf("%w: refused", pool.ErrDown), fmt.Errorf("%w: reset", pool.ErrConnectionLost), pipeline.ErrConnecting,
	} {
		texts = append(texts, err.Error())
	}
	for _, refused := range []pipeline.ConfigError{
		{What: "AUTH", Err: errors.New("WRONGPASS")},
		{What: "handshake", Err: errors.New("NOAUTH")},
		{What: "credentials", Err: errors.New("no vault")},
		{What: "SELECT 3", Err: errors.New("ERR")},
		{What: "SET", Err: errors.New("NOPERM")},
	} {
		texts = append(texts, (&pipeline.DownError{Cause: &refused}).Error())
	}
	for _, held := range []redlock.Holder{
		{}, {Type: "none"}, {Type: "lease", TTL: time.Second}, {Type: "intent"}, {Type: "zset", Readers: 1, TTL: time.Second},
		{Type: "zset", Readers: 2, TTL: time.Second},
		{Type: "list"}, {Type: "string", Token: "token", TTL: time.Second}, {Type: "string", Owner: "me", TTL: -1},
		{Type: "string", Own: true, TTL: time.Second},
	} {
		texts = append(texts, held.Error())
	}
	for _, reason := range []redlock.Reason{
		redlock.ReasonExpired, redlock.ReasonTaken, redlock.ReasonUnreachable, redlock.ReasonClosed,
	} {
		_, text, _ := strings.Cut((&redlock.LostError{Key: "k", Reason: reason}).Error(), "lost: ")
		texts = append(texts, text)
	}
	_, text, _ := strings.Cut((&redlock.LostError{Key: "k", Reason: redlock.ReasonExpired, Planned: true}).Error(), "lost: ")
	texts = append(texts, text)

	for _, cause := range redlock.Causes(t) {
		texts = append(texts, (&redlock.AbstainError{Cause: cause}).Error())
	}
	for _, how := range []string{
		guard.HowRestarted, guard.HowResynced, guard.HowEvicted, guard.HowAdopted, guard.HowEmptied, guard.HowRestored, guard.HowReset, guard.HowForced,
	} {
		texts = append(texts, (&redlock.AbstainError{Cause: guard.Quarantined, How: how}).Error())
	}
	return append(texts,
		(&redlock.AbstainError{Cause: guard.NotStandalone, Value: "cluster"}).Error(),
		(&redlock.AbstainError{Cause: guard.NotStandalone, Value: "sentinel"}).Error(),
		(&redlock.AbstainError{Cause: guard.OffClock, Ours: true}).Error(),
		(&redlock.AbstainError{Cause: guard.Unmarked, Err: errors.New("NOPERM")}).Error(),
		(&redlock.AbstainError{Cause: guard.OffClock, By: drift.Span{Low: 1, High: 3}}).Error(),
	)
}

// A user who searches the page for the text of an error finds its row.
func TestTroubleshootingHasTheTextsOfTheErrors(t *testing.T) {
	rows := troubleshootingRows(t)
	used := make(map[string]bool)
	for _, text := range knownTexts(t) {
		found := false
		for _, row := range rows {
			if matchesText(row, text) {
				found, used[row] = true, true
			}
		}
		if !found {
			t.Errorf("%s has no row for the error %q", troubleshooting, text)
		}
	}

	// The other rows have texts that the test cannot make so easily, or codes of doctor's findings.
	// Each part of them is in the code.
	literals := stringLiterals(t, ".", "../pool", "../internal/guard", "../internal/pipeline", "../internal/voters", "../internal/wire", "../cmd/internal/doctor")
	for _, row := range rows {
		if used[row] {
			continue
		}
		for part := range strings.SplitSeq(row, "…") {
			if part = strings.TrimSpace(part); !strings.Contains(literals, part) {
				t.Errorf("%s has a row for %q, which no error says: %q is nowhere in the code", troubleshooting, row, part)
			}
		}
	}
}

// troubleshootingRows are the texts in the first column of the page's tables.
func troubleshootingRows(t *testing.T) []string {
	t.Helper()
	var rows []string
	for _, found := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, troubleshooting), -1) {
		rows = append(rows, found[1])
	}
	if len(rows) < 50 {
		t.Errorf("%s has %d rows: too few to be all", troubleshooting, len(rows))
	}
	return rows
}

// matchesText reports whether a row has the text; … in the row matches anything.
func matchesText(row, text string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(row), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(text)
}

// literal returns the text of an expression that joins literals. Anything else ends the line.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // "" for a number
		return text
	default:
		return "\n"
	}
}

// stringLiterals returns all string literals of the packages, one per line, without verbs.
func stringLiterals(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	verb := regexp.MustCompile(`%[-+#.\d]*[a-zA-Z]`)
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatal(folder, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					all.WriteString(verb.ReplaceAllString(literal(e), "\n") + "\n")
				}
				return true
			})
		}
	}
	return all.String()
}
