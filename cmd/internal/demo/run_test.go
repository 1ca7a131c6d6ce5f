package demo

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEveryExpectationHoldsOnEmbeddedMasters(t *testing.T) {
	t.Parallel()
	o := fast()
	o.client = nil // so the master that comes back is quarantined first
	res, text, err := shown(t, masters(t, ownMasters).Cluster, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if back := res.Phases[len(res.Phases)-1]; back.Recovery == nil || back.Recovery.duration() < o.TTL {
		t.Errorf("it recovered before the quarantine was over: %+v", back)
	}
	if res.Verdict != VerdictPassed || res.Failed() != 0 {
		t.Fatalf("verdict %q\n%s", res.Verdict, text)
	}

	if got, want := phaseNames(res), "without a lock, with the lock, one gone, two gone, three gone, one back"; got != want {
		t.Fatalf("phases %s, want %s", got, want)
	}
	for i, up := range []int{5, 5, 4, 3, 2, 3} {
		if p := res.Phases[i]; p.MastersUp != up {
			t.Errorf("%s: %d masters up, want %d", p.Name, p.MastersUp, up)
		}
	}
	without, with, refused, back := res.Phases[0], res.Phases[1], res.Phases[4], res.Phases[5]
	if without.Lock || without.Inventory.Oversold <= 0 || without.Sales != 20+without.Inventory.Oversold {
		t.Errorf("without a lock: %+v, %+v", without, without.Inventory)
	}
	if !with.Lock || with.Sales != 20 || with.MostInside != 1 || *with.Inventory != (Stock{20, 0, 0}) {
		t.Errorf("with the lock: %+v, %+v", with, with.Inventory)
	}
	if refused.Sales != 0 || refused.Refused == 0 || len(refused.Causes) != 5 {
		t.Errorf("three gone: %+v", refused)
	}
	for i, c := range refused.Causes {
		if dead := i < 3; dead != (c.State == stateFailed) || dead && c.Cause == "" {
			t.Errorf("cause of master %d: %+v", i+1, c)
		}
	}
	if back.Sales == 0 || back.Recovery == nil || *back.Recovery <= 0 {
		t.Errorf("one back: %+v", back)
	}
	if len(res.Expectations) != 12 || len(res.Skipped) != 0 {
		t.Errorf("%d expectations, %d skipped: want 12 and 0", len(res.Expectations), len(res.Skipped))
	}
	for i, m := range res.Masters {
		if up := i == 0 || i > 2; up != (m.State == seenUp) {
			t.Errorf("master %d at the end: %+v", i+1, m)
		}
	}
	checkPlain(t, text,
		`(?m)^1  Without a lock$`,
		`✓ sold \d+ of 20: oversold by \d+, up to \d+ buyers at the stock at once`,
		`(?m)^2  With the lock$`,
		`✓ sold 20 of 20, stock 0, at most 1 buyer at the stock at once`,
		`→ master 3 is killed`,
		`1 ✗ gone +2 ✗ gone +3 ✗ gone +4 ✓ up +5 ✓ up +2 of 5: no quorum`,
		`✓ it refuses: 0 sales in `,
		`127\.0\.0\.1:\d+  down: connection refused`,
		`→ master 1 is started again`,
		`✓ it recovers by itself: first sale .* after it was started`,
		`(?m)^   three gone +2 of 5 +0 +\d+ +– +–`,
		`✓ ok     nothing is left behind: `,
		`(?m)^PASSED all 12 expectations held, in \d`,
	)
}

// checkPlain checks output without a terminal: its form, and that it matches all of wants.
func checkPlain(t *testing.T, text string, wants ...string) {
	t.Helper()
	if strings.ContainsAny(text, "\x1b\r\t") {
		t.Error("control characters without a terminal")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > textWidth || strings.TrimRight(line, " ") != line {
			t.Errorf("above %d columns, or trailing space: %q", textWidth, line)
		}
	}
	for _, want := range wants {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("not printed: %s", want)
		}
	}
	if t.Failed() {
		t.Log("\n" + text)
	}
}
