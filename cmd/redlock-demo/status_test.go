package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/redlock"
)

// A fakeInspector answers from a list.
type fakeInspector struct {
	answers map[string]*redlock.Inspection
	asked   func() // before each answer; may be nil
}

func (f *fakeInspector) Inspect(_ context.Context, key string) (*redlock.Inspection, error) {
	if f.asked != nil {
		f.asked()
	}
	in, ok := f.answers[key]
	if !ok {
		return nil, errors.New("no such answer")
	}
	return in, nil
}

const tokenOf = ":dc0ofu9ksdue9s8caem0:54a329938b2398e2921c05e19f4a66a1"

// soon is seven minutes after the client of tokenOf was made.
func soon() time.Time { return time.Date(2026, 11, 21, 12, 8, 9, 0, time.UTC) }

func by(owner string, ttl time.Duration) redlock.MasterHold {
	return redlock.MasterHold{Held: &redlock.HeldError{Type: "string", Token: owner + tokenOf, Owner: owner, TTL: ttl}, RoundTrip: 321 * time.Microsecond}
}

func read(count int, owners ...string) redlock.MasterHold {
	m := redlock.MasterHold{Held: &redlock.HeldError{Type: "zset", TTL: 9 * time.Second}, ReaderCount: count, RoundTrip: 321 * time.Microsecond}
	for i, owner := range owners {
		m.Readers = append(m.Readers, redlock.Holder{Token: owner + tokenOf, Owner: owner, Type: "zset", Masters: 1, TTL: time.Duration(9-i) * time.Second})
	}
	return m
}

// plain is the lock of another library.
func plain() redlock.MasterHold {
	return redlock.MasterHold{Held: &redlock.HeldError{Type: "string", Token: "2Hh0QHNoZhdXv0PdJ0ioKQ==", TTL: 3 * time.Second}, RoundTrip: 321 * time.Microsecond}
}

// sorted is a sorted set without readers.
func sorted() redlock.MasterHold {
	return redlock.MasterHold{Held: &redlock.HeldError{Type: "zset", TTL: -1}, RoundTrip: 321 * time.Microsecond}
}

func listKey() redlock.MasterHold {
	return redlock.MasterHold{Held: &redlock.HeldError{Type: "list", TTL: -1}, RoundTrip: 321 * time.Microsecond}
}

func nothing() redlock.MasterHold { return redlock.MasterHold{RoundTrip: 1234 * time.Microsecond} }

// refused is what a master is that does not run.
var refused = &pipeline.DownError{Cause: fmt.Errorf("dial tcp 10.0.0.1:6379: connect: %w", syscall.ECONNREFUSED)}

func silent() redlock.MasterHold {
	return redlock.MasterHold{Err: refused}
}

// answer is an inspection as the library gives it: who stands on how many
// masters, the one on most first, and what that amounts to.
func answer(key string, v redlock.Verdict, masters ...redlock.MasterHold) *redlock.Inspection {
	in := &redlock.Inspection{Key: key, Verdict: v, Masters: masters, Need: len(masters)/2 + 1}
	for i := range masters {
		masters[i].Master = "10.0.0." + string(rune('1'+i)) + ":6379"
		named := masters[i].Readers
		if h := masters[i].Held; h != nil && named == nil {
			named = []redlock.Holder{{Token: h.Token, Owner: h.Owner, Type: h.Type, Masters: 1, TTL: h.TTL}}
		}
		for _, h := range named {
			at := slices.IndexFunc(in.Holders, func(o redlock.Holder) bool { return o.Token == h.Token && o.Type == h.Type })
			if at < 0 {
				in.Holders = append(in.Holders, h)
				continue
			}
			in.Holders[at].Masters++
		}
	}
	slices.SortStableFunc(in.Holders, func(a, b redlock.Holder) int { return b.Masters - a.Masters })
	return in
}

var inspections = []struct {
	name string
	in   *redlock.Inspection
}{
	{"free", answer("invoices", redlock.VerdictFree, nothing(), nothing(), nothing())},
	{"held", answer("invoices", redlock.VerdictHeld, by("billing", 8*time.Second), by("billing", 9*time.Second), by("billing", 7*time.Second))},
	{"held-by-a-quorum", answer("invoices", redlock.VerdictHeld, by("billing", 6500*time.Millisecond), silent(), by("billing", 8*time.Second), silent(), by("billing", 9*time.Second))},
	{"left-over", answer("invoices", redlock.VerdictPartial, by("billing", 300*time.Millisecond), nothing(), nothing())},
	{"split", answer("invoices", redlock.VerdictSplit, by("billing", 8*time.Second), by("shop", 9*time.Second), by("billing", 9*time.Second), by("shop", 9*time.Second), nothing())},
	{"silent", answer("invoices", redlock.VerdictUnknown, silent(), silent(), by("billing", 9*time.Second))},
	{"readers", answer("invoices", redlock.VerdictHeld, read(2, "report", "export"), read(7, "report", "export", "a", "b", "c", "d", "e"), silent())},
	{"for-ever", answer("invoices", redlock.VerdictHeld, by("billing", -1), by("billing", -1), by("billing", -1))},
	{"plain", answer("invoices", redlock.VerdictHeld, plain(), plain(), silent())},
	{"sorted-set", answer("invoices", redlock.VerdictHeld, sorted(), sorted(), nothing())},
	{"list", answer("invoices", redlock.VerdictPartial, listKey(), listKey(), nothing(), nothing(), nothing())},
	{"foreign", answer("invoices\x1b[31m", redlock.VerdictHeld,
		redlock.MasterHold{Held: &redlock.HeldError{Type: "list", TTL: -1}},
		redlock.MasterHold{Held: &redlock.HeldError{Type: "string", Token: "other\x1b]0;client\a", TTL: -1}},
		redlock.MasterHold{Held: &redlock.HeldError{Type: "string", Token: "other\x1b]0;client\a", TTL: -1}})},
}

// ofOne is the status of one fleet.
func ofOne(out io.Writer, asJSON bool, v statusView) *fleetsStatus {
	v.codes, v.now = verdictCodes, soon
	return &fleetsStatus{out: out, json: asJSON, wide: func() layout { return layout{} }, views: []*statusView{&v}}
}

func TestStatusIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, test := range inspections {
		var text, document bytes.Buffer
		who := &fakeInspector{answers: map[string]*redlock.Inspection{test.in.Key: test.in}}
		err := ofOne(&text, false, statusView{who: who}).show(t.Context(), []string{test.in.Key}, 0)
		if code := exitCode(err); code != verdictCodes[test.in.Verdict] {
			t.Errorf("%s: exit code %d, %v", test.name, code, err)
		}
		_ = ofOne(&document, true, statusView{who: who}).show(t.Context(), []string{test.in.Key}, 0)
		if strings.ContainsAny(text.String()+document.String(), "\x1b\a") {
			t.Errorf("%s: control characters: %q", test.name, text.String())
		}
		golden(t, "status-"+test.name, text.String()+document.String())
	}
}

// Status holds no lock, so the library's default TTL is nothing to it.
func TestStatusTakesALongestTTLBelowTheDefault(t *testing.T) {
	t.Parallel()
	urls := list(cluster(t, 3))
	if stdout, stderr, code := output(t, nil, "status", "--masters", urls, "--max-ttl", "20ms", "k"); code != 0 || stderr != "" {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestStatusOfSeveralKeysHasTheGreatestCode(t *testing.T) {
	t.Parallel()
	who := &fakeInspector{answers: map[string]*redlock.Inspection{
		"a": answer("a", redlock.VerdictFree, nothing()),
		"b": answer("b", redlock.VerdictUnknown, silent()),
		"c": answer("c", redlock.VerdictSplit, by("x", time.Second), by("y", time.Second)),
	}}
	for keys, want := range map[string]int{"a": 0, "c": 1, "a c": 1, "a b c": 69, "b c": 69} {
		var out bytes.Buffer
		err := ofOne(&out, true, statusView{who: who}).show(t.Context(), strings.Fields(keys), 0)
		if got := exitCode(err); got != want {
			t.Errorf("%s: %d, want %d", keys, got, want)
		}
		var document struct{ Keys []keyStatus }
		if err := json.Unmarshal(out.Bytes(), &document); err != nil || len(document.Keys) != len(strings.Fields(keys)) {
			t.Errorf("%s: %v in %s", keys, err, out.String())
		}
	}
}

func TestWatchingLooksUntilItIsEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	looks := 0
	who := &fakeInspector{answers: map[string]*redlock.Inspection{"k": answer("k", redlock.VerdictFree, nothing())}, asked: func() {
		if looks++; looks == 3 {
			cancel(errors.New("enough"))
		}
	}}
	var out bytes.Buffer
	f := ofOne(&out, false, statusView{who: who})
	f.clear = true
	err := f.show(ctx, []string{"k"}, time.Millisecond)
	if err == nil || err.Error() != "enough" || strings.Count(out.String(), "\x1b[H\x1b[Jk: free on 1 of 1\n") != 3 {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestWhoWaitsIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	in := answer("invoices", redlock.VerdictHeld, by("billing", 8*time.Second), by("billing", 9*time.Second), by("billing", 7*time.Second))
	var text, document bytes.Buffer
	for _, w := range []*waitingStatus{
		{},
		{Error: "NOPERM this user has no permissions\x1b[31m"},
		{Count: 1, Clients: []waitingClient{{"cq1", "", 4200, false}}, Error: "ERR"},
		{Count: 2, Clients: []waitingClient{{"cq1\x1b[31m", "web\x1b[31m@host/1", 61_000, false}, {"cq2", "", 0, true}}},
		{Count: 120, Clients: []waitingClient{{"a", "", 9000, false}, {"b", "", 8000, false}, {"c", "", 7000, false}, {"d", "", 6000, false}, {"e", "", 5000, false}, {"f", "", 4000, false}}},
	} {
		who := &fakeInspector{answers: map[string]*redlock.Inspection{"invoices": in}}
		waiting := func(context.Context, string) *waitingStatus { return w }
		for _, f := range []*fleetsStatus{ofOne(&text, false, statusView{who: who, waiting: waiting}), ofOne(&document, true, statusView{who: who, waiting: waiting})} {
			if err := f.show(t.Context(), []string{"invoices"}, 0); err != nil {
				t.Error(err)
			}
		}
	}
	if strings.ContainsAny(text.String()+document.String(), "\x1b\a") {
		t.Errorf("control characters: %q", text.String())
	}
	golden(t, "status-waiting", text.String()+document.String())
}

func TestStatusShowsTokensInFullWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	const random = "54a329938b2398e2921c05e19f4a66a1" // of the holder
	in := answer("invoices", redlock.VerdictHeld, by("billing", 8*time.Second), by("billing", 9*time.Second), by("billing", 7*time.Second))
	who := &fakeInspector{answers: map[string]*redlock.Inspection{"invoices": in}}
	for _, shown := range []bool{false, true} {
		for _, json := range []bool{false, true} {
			var out bytes.Buffer
			if err := ofOne(&out, json, statusView{who: who, tokens: shown}).show(t.Context(), []string{"invoices"}, 0); err != nil {
				t.Error(err)
			}
			if got := strings.Count(out.String(), random); shown && got != 3 || !shown && got != 0 {
				t.Errorf("shown %t, JSON %t: the token is there %d times: %s", shown, json, got, out.String())
			}
		}
	}
}
