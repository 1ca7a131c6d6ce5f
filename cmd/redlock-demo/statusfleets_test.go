package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// keysOf is which keys a document in JSON has in which fleet.
func keysOf(t *testing.T, document string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range parse[fleetsDocument](t, document).Fleets {
		b.WriteString(f.Name + ": ")
		for _, k := range f.Keys {
			b.WriteString(k.Key + " ")
		}
	}
	return b.String()
}

// judged is the verdict on masters.
func judged(facts ...doctor.Facts) func(context.Context) (*doctor.Verdict, error) {
	v, _ := doctor.Judge(facts, judgedAt(), doctor.Client{})
	return func(context.Context) (*doctor.Verdict, error) { return &v, nil }
}

func TestStatusOfSeveralFleetsIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	belongs := func(key string) string { return map[string]string{"invoices": "eu", "mail": "us", "stray": "us"}[key] }
	good := judged(votingMaster("10.0.0.1:6379", 0), votingMaster("10.0.0.2:6379", 0), votingMaster("10.0.0.3:6379", 0))
	away := judged(doctor.Facts{Master: "10.0.0.1:6379", Down: refused}, doctor.Facts{Master: "10.0.0.2:6379", Down: refused}, votingMaster("10.0.0.3:6379", 0))
	free := func(key string) *redlock.Inspection {
		return answer(key, redlock.VerdictFree, nothing(), nothing(), nothing())
	}
	held := func(key string) *redlock.Inspection {
		return answer(key, redlock.VerdictHeld, by("billing", 8*time.Second), by("billing", 9*time.Second), nothing())
	}
	eu := &fakeInspector{answers: map[string]*redlock.Inspection{"invoices": held("invoices"), "mail": free("mail"), "stray": held("stray")}}
	us := &fakeInspector{answers: map[string]*redlock.Inspection{"invoices": free("invoices"), "mail": answer("mail", redlock.VerdictUnknown, silent(), silent(), nothing()), "stray": answer("stray", redlock.VerdictUnknown, silent(), silent(), nothing())}}
	for name, asJSON := range map[string]bool{"status-fleets": false, "status-fleets-json": true} {
		var out bytes.Buffer
		f := &fleetsStatus{out: &out, json: asJSON, wide: func() layout { return layout{} }, views: []*statusView{
			{who: eu, codes: verdictCodes, name: "eu", shard: belongs, verdict: good, now: soon},
			{who: us, codes: verdictCodes, name: "us", shard: belongs, verdict: away, now: soon},
		}}
		code, err := f.look(t.Context(), []string{"invoices", "mail", "stray"})
		if code != exitNoQuorum || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
		golden(t, name, out.String())
	}
}

// A key that is held in another fleet than its own is somebody's mistake, which no other
// command would see.
func TestAKeyInTheWrongFleetIsSeen(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"eu": servers(t, 1), "us": servers(t, 1)}
	two := []string{"--masters", "eu=" + addresses(named["eu"]), "--masters", "us=" + addresses(named["us"]), "--check"}
	shards := shardsOf(t, named)
	const key = "invoices"
	own := shards.Shard(key)
	other := map[string]string{"eu": "us", "us": "eu"}[own]
	for _, where := range []string{own, other} {
		l := mustLock(t, opened(t, named[where]), key)
		stdout, stderr, code := output(t, nil, append([]string{"status", key}, two...)...)
		if code != exitFailed || stderr != "" || strings.Count(stdout, key+": ") != map[bool]int{true: 1, false: 2}[where == own] ||
			strings.Contains(stdout, `it belongs to fleet "`+own+`"`) != (where == other) {
			t.Errorf("held in %s: exit code %d, %q\n%s", where, code, stderr, stdout)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if stdout, stderr, code := output(t, nil, append([]string{"status", key}, two...)...); code != 0 || stderr != "" {
		t.Errorf("free: exit code %d, %q\n%s", code, stderr, stdout)
	}
}
