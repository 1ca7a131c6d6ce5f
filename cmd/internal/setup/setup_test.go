package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/looktest"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

func TestWhatInitHasDoneIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	wanted := guard.Config{Level: guard.Strict, MaxTTL: time.Minute, Masters: 3, Drift: drift.Default}
	in := func(i int, told guard.Facts) guard.Facts {
		told.Master = fmt.Sprintf("10.0.0.%d:6379", i)
		return told
	}
	none := guard.Facts{Connected: true, Marker: guard.Marker{Verdict: guard.Missing}}
	before := looktest.Voter("")
	before.Marker.LevelIs = "strict"
	odd := guard.Facts{Connected: true, Marker: guard.Marker{Verdict: guard.Conflict, Fields: guard.Fields{Version: "3\x1b[31m", Masters: "3"}}}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	for outcome, facts := range map[string][]guard.Facts{
		OutcomeDeclared: {in(1, none), in(2, none), in(3, none)},
		OutcomeChanged:  {in(1, before), in(2, none), in(3, none)},
		OutcomeAlready:  {in(1, before), in(2, before), in(3, before)},
		OutcomeRefused:  {in(1, odd), in(2, none), in(3, guard.Facts{Err: &os.PathError{Op: "dial", Path: "redis://:secret@h\x1b", Err: os.ErrClosed}})},
	} {
		if err := out.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		r := newInitReport(looktest.Look(facts...), wanted, nil)
		r.Outcome = outcome
		if err := r.print(&app.App{Out: out}, wanted); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		if s := string(text); strings.Contains(s, "secret") || strings.Contains(s, "\x1b") {
			t.Errorf("%s: %q", outcome, s)
		}
		rig.Golden(t, "init-"+outcome, string(text))
	}
}
