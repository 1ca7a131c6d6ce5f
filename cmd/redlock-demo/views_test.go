package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

func TestTheHelpIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "bench", "chaos", "doctor", "exec", "init", "locks", "release", "status", "wait"} {
		stdout, stderr, code := output(t, nil, strings.Fields(name+" --help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
		golden(t, strings.TrimPrefix(name+"-help", "-"), stdout)
	}
}

func TestAMeasurementIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	lock, unlock := bench.Latency{P50: 710, P90: 2000, P99: 4300, Max: 69_000}, bench.Latency{P50: 720, P90: 2100, P99: 4200, Max: 6900}
	one := bench.Result{
		Masters: 5, Quorum: 3, Goroutines: 16, Keys: 1, TTLMS: 10_000, Prefix: "redlock-demo:bench:x:",
		Rows: []bench.Row{
			{Guard: "off", Pairs: 37_240, PairsPerSec: 7448.4, Lock: lock, Unlock: unlock},
			{Guard: "off", Fencing: true, Unavailable: "the masters do not offer it"},
			{Guard: "standard", Pairs: 12, PairsPerSec: 2.4, Lock: lock, Unlock: unlock, Errors: []bench.ErrorsCount{
				{Kind: "no quorum", Count: 1234, First: "2 of 3 answered, redis://:secret@h"}, {Kind: "lost", Count: 1, First: "expired"},
			}},
		},
		Away: []string{"10.0.0.4:6379", "10.0.0.5:6379"},
		Left: []bench.Left{{Master: "10.0.0.3:6379", Error: "no answer in time"}},
	}
	several := bench.Result{
		Goroutines: 16, Keys: 2000, TTLMS: 10_000, Fleets: []bench.Share{{Name: "eu", Masters: 3, Quorum: 2, Keys: 1012}, {Name: "us", Masters: 5, Quorum: 3, Keys: 988}},
		Rows: []bench.Row{{Guard: "off", Pairs: 37_240, PairsPerSec: 7448.4, Lock: lock, Unlock: bench.Latency{P50: 720, P99: 4200}}},
	}
	for name, r := range map[string]*bench.Result{"bench": &one, "bench-fleets": &several} {
		var text bytes.Buffer
		if err := (&benchView{out: &text}).print(r, 5*time.Second); err != nil {
			t.Error(err)
		}
		if strings.Contains(text.String(), "secret") {
			t.Errorf("%q", text.String())
		}
		golden(t, name, text.String())
	}
}

func TestWhatInitHasDoneIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	wanted := guard.Config{Level: guard.Strict, MaxTTL: time.Minute, Masters: 3, Drift: drift.Default}
	before := wanted.Stored("run", 0)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	for outcome, reads := range map[string][]markerRead{
		outcomeDeclared: {{master: "10.0.0.1:6379"}, {master: "10.0.0.2:6379"}, {master: "10.0.0.3:6379"}},
		outcomeChanged:  {{master: "10.0.0.1:6379", marker: &before}, {master: "10.0.0.2:6379"}, {master: "10.0.0.3:6379"}},
		outcomeAlready:  {{master: "10.0.0.1:6379", marker: &before}, {master: "10.0.0.2:6379", marker: &before}, {master: "10.0.0.3:6379", marker: &before}},
		outcomeRefused: {
			{master: "10.0.0.1:6379", marker: &guard.Stored{Type: "hash", Fields: guard.Fields{Version: "3\x1b[31m", Masters: "3"}}}, {master: "10.0.0.2:6379"},
			{master: "10.0.0.3:6379", err: &os.PathError{Op: "dial", Path: "redis://:secret@h\x1b", Err: os.ErrClosed}},
		},
	} {
		if err := out.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		r := newInitReport(reads, wanted)
		r.Outcome = outcome
		if err := r.print(&app{out: out}, wanted); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		if s := string(text); strings.Contains(s, "secret") || strings.Contains(s, "\x1b") {
			t.Errorf("%s: %q", outcome, s)
		}
		golden(t, "init-"+outcome, string(text))
	}
}
