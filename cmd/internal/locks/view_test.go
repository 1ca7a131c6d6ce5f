package locks

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// surveyed returns what a look finds.
func surveyed() *Survey {
	s := &Survey{Took: 12 * time.Millisecond, Masters: []Search{
		{Master: "10.0.0.1:6379", Steps: 12, Keys: 1100, SlowestUS: 1000},
		{Master: "10.0.0.2:6379", Steps: 12, Keys: 1101, Hidden: 3, SlowestUS: 3000},
		{Master: "10.0.0.3:6379"},
	}}
	s.Masters[2].ended(errors.New("dial redis://:secret@h: connection refused\x1b[31m"))
	long := "invoices:" + strings.Repeat("0123456789", 8)
	s.Locks = []Lock{
		{Inspection: testutil.Answer("deploy\x1b[31m", redlock.VerdictHeld, testutil.By("ci@build-1/4711", 8*time.Second), testutil.By("ci@build-1/4711", 9*time.Second), testutil.Silent()), Kind: Plain, Waiting: 2, Fence: 1795419834569622},
		{Inspection: testutil.Answer(long, redlock.VerdictHeld, testutil.By("a-very-long-name-of-an-owner@a-very-long-host-name.example/123", 8*time.Second), testutil.By("a-very-long-name-of-an-owner@a-very-long-host-name.example/123", 9*time.Second), testutil.Silent()), Kind: Plain, Waiting: -1},
		{Inspection: testutil.Answer("left-over", redlock.VerdictPartial, testutil.By("billing", 300*time.Millisecond), testutil.Nothing(), testutil.Nothing()), Kind: Plain},
		{Inspection: testutil.Answer("read", redlock.VerdictHeld, testutil.Read(2, "report", "export"), testutil.Read(2, "report", "export"), testutil.Silent()), Kind: Readers, Readers: 2},
		{Inspection: testutil.Answer("split", redlock.VerdictSplit, testutil.By("billing", 8*time.Second), testutil.By("shop", 9*time.Second), testutil.Nothing()), Kind: Plain},
	}
	slices.Reverse(s.Locks[3].Holders) // the reader that stays for longest is not the first
	return s
}

func columns(n int) func() term.Layout { return func() term.Layout { return term.Layout{Columns: n} } }

func TestLocksAreAsInTheirGoldenFile(t *testing.T) {
	t.Parallel()
	var text, narrow, document bytes.Buffer
	for _, v := range []*locksView{
		{Looks: app.Looks{Out: &text}, limit: 4, layout: columns(0)},
		{Looks: app.Looks{Out: &narrow}, limit: 10, layout: columns(80)},
		{Looks: app.Looks{Out: &document, JSON: true}, limit: 4, layout: columns(0)},
	} {
		if err := v.show(surveyed()); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(narrow.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	all := text.String() + narrow.String() + document.String()
	if strings.ContainsAny(all, "\x1b\a") || strings.Contains(all, "secret") || !strings.Contains(text.String(), surveyed().Locks[1].Key) {
		t.Errorf("%q", all)
	}
	testutil.Golden(t, "locks", all)
}

// The holder says where to look, so a narrow terminal shows it whole, and no empty columns.
func TestANarrowTerminalShowsHoldersWhole(t *testing.T) {
	t.Parallel()
	const holder = "ci@build-1/4711"
	s := surveyed()
	s.Locks = []Lock{
		{Inspection: testutil.Answer("invoices:2026-11:customer-4711", redlock.VerdictHeld, testutil.By(holder, 28*time.Second), testutil.By(holder, 29*time.Second), testutil.Nothing()), Kind: Plain},
		{Inspection: testutil.Answer("nightly", redlock.VerdictPartial, testutil.By("deploy@app-17/1234567", 8*time.Second), testutil.Nothing(), testutil.Nothing()), Kind: Plain},
	}
	var text bytes.Buffer
	if err := (&locksView{Looks: app.Looks{Out: &text}, limit: 4, layout: columns(60)}).show(s); err != nil {
		t.Fatal(err)
	}
	const want = `   key              holder                 on      left
   invoices:2026-…  ci@build-1/4711        2 of 3  28.0 s
   nightly          deploy@app-17/1234567  1 of 3  8.0 s

1 lock is held. 1 key without a quorum: `
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("%s\nwant\n%s", text.String(), want)
	}
}

// "No locks." would be wrong: two of three masters were not searched.
func TestASearchOfTooFewMastersSaysSoFirst(t *testing.T) {
	t.Parallel()
	silent := errors.New("connection refused")
	s := &Survey{Masters: []Search{{Master: "10.0.0.1:6379"}, {Master: "10.0.0.2:6379", err: silent}, {Master: "10.0.0.3:6379", err: silent}}}
	var text bytes.Buffer
	if err := (&locksView{Looks: app.Looks{Out: &text}, limit: 4, layout: columns(0)}).show(s); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "1 of 3 masters could be searched, 2 needed: who holds locks is not known.\n") || strings.Contains(text.String(), "No locks") {
		t.Errorf("%s", text.String())
	}
}

func TestASearchThatWasCutShowsWhatItHasSeen(t *testing.T) {
	t.Parallel()
	for want, found := range map[string][]Lock{
		"1 lock is held.\n": surveyed().Locks[:1], "No locks were found in that time.\n": nil,
	} {
		s := &Survey{Cut: true, Locks: found, Masters: []Search{{err: errBound}, {err: errBound}, {err: errBound}}}
		var text bytes.Buffer
		if err := (&locksView{Looks: app.Looks{Out: &text}, limit: 4, layout: columns(0)}).show(s); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) || !strings.HasSuffix(text.String(), " NOT ALL WAS SEEN.\n") || locksCode(s) != app.ExitFailed {
			t.Errorf("%s", text.String())
		}
	}
}
