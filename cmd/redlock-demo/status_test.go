package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A fakeInspector answers from a list.
type fakeInspector struct {
	answers map[string]*inspection
	asked   func() // before each answer; may be nil
}

func (f *fakeInspector) inspect(_ context.Context, key string) (*inspection, error) {
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

func by(owner string, ttl time.Duration) masterHold {
	return masterHold{Held: &redlock.HeldError{Type: "string", Token: owner + tokenOf, Owner: owner, TTL: ttl}, RoundTrip: 321 * time.Microsecond}
}

func nothing() masterHold { return masterHold{RoundTrip: 1234 * time.Microsecond} }

func silent() masterHold {
	return masterHold{Err: errors.New("dial tcp 10.0.0.1:6379: connect: connection refused")}
}

func answer(key string, masters ...masterHold) *inspection {
	for i := range masters {
		masters[i].Master = "10.0.0." + string(rune('1'+i)) + ":6379"
	}
	return &inspection{Key: key, Masters: masters}
}

var inspections = []struct {
	name string
	in   *inspection
	want verdict
}{
	{"free", answer("invoices", nothing(), nothing(), nothing()), verdictFree},
	{"held", answer("invoices", by("billing", 8*time.Second), by("billing", 9*time.Second), by("billing", 7*time.Second)), verdictHeld},
	{"held-by-a-quorum", answer("invoices", by("billing", 8*time.Second), silent(), by("billing", 6500*time.Millisecond), silent(), by("billing", 9*time.Second)), verdictHeld},
	{"left-over", answer("invoices", by("billing", 300*time.Millisecond), nothing(), nothing()), verdictFree},
	{"split", answer("invoices", by("billing", 8*time.Second), by("shop", 9*time.Second), by("billing", 9*time.Second), by("shop", 9*time.Second), nothing()), verdictSplit},
	{"silent", answer("invoices", silent(), silent(), by("billing", 9*time.Second)), verdictUnknown},
	{"undecided", answer("invoices", by("billing", 8*time.Second), by("billing", 9*time.Second), nothing(), silent(), silent()), verdictUnknown},
	{"foreign", answer("invoices\x1b[31m",
		masterHold{Held: &redlock.HeldError{Type: "list", TTL: -1}},
		masterHold{Held: &redlock.HeldError{Type: "string", Token: "other\x1b]0;client\a", TTL: -1}},
		masterHold{Held: &redlock.HeldError{Type: "string", Token: "other\x1b]0;client\a", TTL: -1}}), verdictHeld},
	{"was-held", answer("invoices", masterHold{Held: &redlock.HeldError{Type: "none"}}, nothing(), by("shop", 0)), verdictFree},
}

func TestStatusIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, test := range inspections {
		if v, _ := test.in.judge(); v != test.want {
			t.Errorf("%s: %s, want %s", test.name, v, test.want)
		}
		var text, document bytes.Buffer
		who := &fakeInspector{answers: map[string]*inspection{test.in.Key: test.in}}
		err := (&statusView{out: &text}).show(t.Context(), who, []string{test.in.Key}, 0)
		if code := exitCode(err); code != verdictCodes[test.want] {
			t.Errorf("%s: exit code %d, %v", test.name, code, err)
		}
		_ = (&statusView{out: &document, json: true}).show(t.Context(), who, []string{test.in.Key}, 0)
		if strings.ContainsAny(text.String()+document.String(), "\x1b\a") {
			t.Errorf("%s: control characters: %q", test.name, text.String())
		}
		golden(t, "status-"+test.name, text.String()+document.String())
	}
}

func TestStatusOfSeveralKeysHasTheGreatestCode(t *testing.T) {
	t.Parallel()
	who := &fakeInspector{answers: map[string]*inspection{
		"a": answer("a", nothing()),
		"b": answer("b", silent()),
		"c": answer("c", by("x", time.Second), by("y", time.Second)),
	}}
	for keys, want := range map[string]int{"a": 0, "c": 1, "a c": 1, "a b c": 69, "b c": 69} {
		var out bytes.Buffer
		err := (&statusView{out: &out, json: true}).show(t.Context(), who, strings.Fields(keys), 0)
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
	who := &fakeInspector{answers: map[string]*inspection{"k": answer("k", nothing())}, asked: func() {
		if looks++; looks == 3 {
			cancel(errors.New("enough"))
		}
	}}
	var out bytes.Buffer
	err := (&statusView{out: &out, clear: true}).show(ctx, who, []string{"k"}, time.Millisecond)
	if err == nil || err.Error() != "enough" || strings.Count(out.String(), "\x1b[H\x1b[Jk: free on 1 of 1 masters\n") != 3 {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestStatusEndsQuietlyWhereNobodyReads(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	defer func() { _ = write.Close() }()
	who := &fakeInspector{answers: map[string]*inspection{"k": answer("k", nothing())}}
	if err := (&statusView{out: write}).show(t.Context(), who, []string{"k"}, time.Millisecond); exitCode(err) != exitOutput {
		t.Errorf("%v", err)
	}
}

func TestBadInputOfStatusGetsOneSentence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "no key is named: want redlock-demo status KEY... (see redlock-demo status --help)"},
		{[]string{"k"}, "no masters are named: want --masters url,url,… or REDLOCK_MASTERS"},
		{[]string{"--watch=1ms", "k"}, `--watch "1ms": want a duration from 100ms to 1h0m0s, such as 500ms or 2s (see redlock-demo status --help)`},
		{[]string{"--masters", "redis://127.0.0.1:1", "k"}, "status: this version cannot ask the masters who holds a lock yet"},
	} {
		stdout, stderr, code := output(t, nil, append([]string{"status"}, test.args...)...)
		if code != exitUsage || stdout != "" || stderr != "redlock-demo: "+test.want+"\n" {
			t.Errorf("%q: exit code %d, %q, %q", test.args, code, stdout, stderr)
		}
	}
}

func TestTheHelpOfStatusIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := output(t, nil, "status", "--help")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	golden(t, "status-help", stdout)
}
