package status

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

var inspections = []struct {
	name string
	in   *redlock.Inspection
}{
	{"free", testutil.Answer("invoices", redlock.VerdictFree, testutil.Nothing(), testutil.Nothing(), testutil.Nothing())},
	{"held-by-a-quorum", testutil.Answer("invoices", redlock.VerdictHeld, testutil.By("billing", 6500*time.Millisecond), testutil.Silent(), testutil.By("billing", 8*time.Second), testutil.Silent(), testutil.By("billing", 9*time.Second))},
	{"left-over", testutil.Answer("invoices", redlock.VerdictPartial, testutil.By("billing", 300*time.Millisecond), testutil.Nothing(), testutil.Nothing())},
	{"split", testutil.Answer("invoices", redlock.VerdictSplit, testutil.By("billing", 8*time.Second), testutil.By("shop", 9*time.Second), testutil.By("billing", 9*time.Second), testutil.By("shop", 9*time.Second), testutil.Nothing())},
	{"silent", testutil.Answer("invoices", redlock.VerdictUnknown, testutil.Silent(), testutil.Silent(), testutil.By("billing", 9*time.Second))},
	{"readers", testutil.Answer("invoices", redlock.VerdictHeld, testutil.Read(2, "report", "export"), testutil.Read(7, "report", "export", "a", "b", "c", "d", "e"), testutil.Silent())},
	{"sorted-set", testutil.Answer("invoices", redlock.VerdictHeld, testutil.Sorted(), testutil.Sorted(), testutil.Nothing())},
	{"foreign", testutil.Answer("invoices\x1b[31m", redlock.VerdictHeld,
		redlock.MasterHold{Held: &redlock.Holder{Type: "list", TTL: -1, Stuck: true}},
		redlock.MasterHold{Held: &redlock.Holder{Type: "string", Token: "other\x1b]0;client\a", TTL: -1, Stuck: true}},
		redlock.MasterHold{Held: &redlock.Holder{Type: "string", Token: "other\x1b]0;client\a", TTL: -1, Stuck: true}})},
}

// viewOn returns v as a view that prints to out.
func viewOn(out io.Writer, asJSON bool, v statusView) *statusView {
	v.Looks, v.wide, v.now = app.Looks{Out: out, JSON: asJSON}, func() term.Layout { return term.Layout{} }, testutil.Soon
	return &v
}

func TestStatusIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, test := range inspections {
		var text, document bytes.Buffer
		inspector := testutil.Inspections{test.in.Key: test.in}
		err := viewOn(&text, false, statusView{inspector: inspector}).show(t.Context(), []string{test.in.Key}, 0)
		if code := app.ExitCode(err); code != verdictCodes[test.in.Verdict] {
			t.Errorf("%s: exit code %d, %v", test.name, code, err)
		}
		_ = viewOn(&document, true, statusView{inspector: inspector}).show(t.Context(), []string{test.in.Key}, 0)
		if strings.ContainsAny(text.String()+document.String(), "\x1b\a") {
			t.Errorf("%s: control characters: %q", test.name, text.String())
		}
		testutil.Golden(t, "status-"+test.name, text.String()+document.String())
	}
}

func TestStatusOfSeveralKeysHasTheGreatestCode(t *testing.T) {
	t.Parallel()
	inspector := testutil.Inspections{
		"a": testutil.Answer("a", redlock.VerdictFree, testutil.Nothing()),
		"b": testutil.Answer("b", redlock.VerdictUnknown, testutil.Silent()),
		"c": testutil.Answer("c", redlock.VerdictSplit, testutil.By("x", time.Second), testutil.By("y", time.Second)),
	}
	for keys, want := range map[string]int{"a": 0, "c": 1, "a c": 1, "a b c": 69, "b c": 69} {
		var out bytes.Buffer
		err := viewOn(&out, true, statusView{inspector: inspector}).show(t.Context(), strings.Fields(keys), 0)
		if got := app.ExitCode(err); got != want {
			t.Errorf("%s: %d, want %d", keys, got, want)
		}
		var document struct{ Keys []keyStatus }
		if err := json.Unmarshal(out.Bytes(), &document); err != nil || len(document.Keys) != len(strings.Fields(keys)) {
			t.Errorf("%s: %v in %s", keys, err, out.String())
		}
	}
}

func TestWhoWaitsIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	in := testutil.Answer("invoices", redlock.VerdictHeld, testutil.By("billing", 8*time.Second), testutil.By("billing", 9*time.Second), testutil.By("billing", 7*time.Second))
	var text, document bytes.Buffer
	for _, w := range []*observe.WaitingStatus{
		{},
		{Error: "NOPERM this user has no permissions\x1b[31m"},
		{Count: 1, Clients: []observe.WaitingClient{{Client: "cq1", Owner: "", ForMS: 4200, Called: false}}, Error: "ERR"},
		{Count: 2, Clients: []observe.WaitingClient{{Client: "cq1\x1b[31m", Owner: "web\x1b[31m@host/1", ForMS: 61_000, Called: false}, {Client: "cq2", Owner: "", ForMS: 0, Called: true}}},
		{Count: 120, Clients: []observe.WaitingClient{{Client: "a", Owner: "", ForMS: 9000, Called: false}, {Client: "b", Owner: "", ForMS: 8000, Called: false}, {Client: "c", Owner: "", ForMS: 7000, Called: false}, {Client: "d", Owner: "", ForMS: 6000, Called: false}, {Client: "e", Owner: "", ForMS: 5000, Called: false}, {Client: "f", Owner: "", ForMS: 4000, Called: false}}},
	} {
		inspector := testutil.Inspections{"invoices": in}
		waiting := func(context.Context, string) *observe.WaitingStatus { return w }
		for _, f := range []*statusView{viewOn(&text, false, statusView{inspector: inspector, waiting: waiting}), viewOn(&document, true, statusView{inspector: inspector, waiting: waiting})} {
			if err := f.show(t.Context(), []string{"invoices"}, 0); err != nil {
				t.Error(err)
			}
		}
	}
	if strings.ContainsAny(text.String()+document.String(), "\x1b\a") {
		t.Errorf("control characters: %q", text.String())
	}
	testutil.Golden(t, "status-waiting", text.String()+document.String())
}
