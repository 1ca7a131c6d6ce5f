package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/internal/redistest"
)

// processes is masters that are processes.
func processes(t *testing.T, n int, cfg redistest.Config) (c *redistest.Cluster, urls string) {
	t.Helper()
	c = redistest.Start(t, n, cfg)
	return c, strings.Join(c.URLs(), ",")
}

// checkEmpty checks that the masters hold no key.
func checkEmpty(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	for _, m := range c.Masters {
		if keys, err := m.Do("KEYS", "*"); err != nil || len(keys.([]any)) > 0 {
			t.Errorf("%s: %q, %v", m.Addr(), keys, err)
		}
	}
}

func TestBenchMeasuresAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	stdout, stderr, code := output(t, nil, "bench", "--masters", urls, "--duration", "300ms", "--goroutines", "4", "--guard", "off", "--fence", "no")
	want := regexp.MustCompile(`^3 masters, 2 a quorum, 4 goroutines, 4 keys, TTL 10s, 300ms a row\n\n` +
		` +guard +fencing +pairs/s +lock p50 +p90 +p99 +max +unlock p50 +p99 +errors\n +off +no +[\d,]+ +\d[^\n]* +0\n$`)
	if code != 0 || stderr != "" || !want.MatchString(stdout) {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	checkEmpty(t, c)
}

func TestBenchPrintsADocumentOfContendedLocks(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	stdout, stderr, code := output(t, nil, "bench", "--json", "--masters", urls, "--duration", "300ms", "--goroutines", "8", "--keys", "2", "--fence", "no", "--guard", "off")
	var r bench.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || stderr != "" {
		t.Fatalf("%v, exit code %d, %q\n%s", err, code, stderr, stdout)
	}
	if r.Masters != 3 || r.Quorum != 2 || r.Keys != 2 || len(r.Rows) != 1 || len(r.Left) != 0 {
		t.Fatalf("%+v", r)
	}
	row := r.Rows[0]
	l := row.Lock
	if row.Guard != "off" || row.Pairs < 10 || row.PairsPerSec < 10 || len(row.Errors) != 0 || row.DurationMS < 300 ||
		l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.Max || row.Unlock.P50 <= 0 {
		t.Errorf("%+v", row)
	}
	checkEmpty(t, c)
}

func TestBenchMeasuresTheLevelThatTheMarkersName(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	if _, code := initialized(t, "--masters", urls, "--max-ttl", "30s"); code != 0 {
		t.Fatal(code)
	}
	before := *markerOf(t, c.Masters[0])
	stdout, stderr, code := output(t, nil, "bench", "--json", "--masters", urls, "--duration", "200ms")
	var r bench.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || stderr != "" || len(r.Rows) != 4 || len(r.Left) > 0 {
		t.Fatalf("%v, exit code %d, %q\n%s", err, code, stderr, stdout)
	}
	for i, want := range []struct {
		guard   string
		fencing bool
	}{{"off", false}, {"off", true}, {"standard", false}, {"standard", true}} {
		if row := r.Rows[i]; row.Guard != want.guard || row.Fencing != want.fencing || row.Pairs == 0 || row.Unavailable != "" {
			t.Errorf("%+v, want %v", row, want)
		}
	}
	for _, m := range c.Masters {
		keys, err := m.Do("KEYS", "*")
		if err != nil || len(keys.([]any)) != 1 {
			t.Errorf("left behind: %q, %v", keys, err)
		}
	}
	if after := *markerOf(t, c.Masters[0]); after != before {
		t.Errorf("the marker is %+v, was %+v", after, before)
	}
	stdout, stderr, code = output(t, nil, "bench", "--masters", urls, "--duration", "200ms", "--ttl", "40s", "--fence", "no")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "standard  no       WithTTL: 40s is above WithMaxTTL") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestBenchCleansUpWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	cmd := command(t, nil, "bench", "--masters", urls, "--duration", "1m", "--keys", "1", "--guard", "off", "--fence", "no")
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if keys, err := c.Masters[0].Do("KEYS", "redlock-demo:bench:*"); err == nil && len(keys.([]any)) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it did not lock within a minute")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(t, cmd.Wait()); code != 130 || stderr.String() != "redlock-demo: ended by SIGINT\n" || !strings.Contains(stdout.String(), "off") {
		t.Errorf("exit code %d, %q\n%s", code, stderr.String(), stdout.String())
	}
	checkEmpty(t, c)
}

func TestBenchGoesOnWithAMasterGone(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	if err := c.Masters[2].Kill(); err != nil {
		t.Fatal(err)
	}
	args := []string{"bench", "--masters", urls, "--duration", "200ms", "--guard", "off", "--fence", "no"}
	stdout, stderr, code := output(t, nil, args...)
	away := "\nout of reach all along, so nothing was written there: " + c.Masters[2].Addr() + "\n"
	if code != 0 || stderr != "" || !strings.HasSuffix(stdout, away) || strings.Contains(stdout, "not removed") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if err := c.Masters[1].Kill(); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code = output(t, nil, args...)
	if code != exitNoQuorum || !strings.HasPrefix(stderr, "redlock-demo: no quorum within 5 s: 2 of 3 masters are down (") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stdout, "\nnothing was measured\n") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestBenchSaysWhatItCouldNotRemove(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	cmd := command(t, nil, "bench", "--masters", urls, "--duration", "1s", "--guard", "off", "--fence", "no")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the master has granted a lock", func() bool {
		reply, err := c.Masters[2].Do("INFO", "commandstats")
		text, _ := reply.([]byte)
		return err == nil && bytes.Contains(text, []byte("cmdstat_set:"))
	})
	if err := c.Masters[2].Kill(); err != nil {
		t.Fatal(err)
	}
	want := "\nnot removed from " + c.Masters[2].Addr() + ": "
	if code := codeOf(t, cmd.Wait()); code != 0 || !strings.Contains(stdout.String(), want) || !strings.HasSuffix(stdout.String(), ". The keys expire by themselves\n") || strings.Contains(stdout.String(), "all along") {
		t.Errorf("exit code %d, %s\n%s", code, stderr.String(), stdout.String())
	}
}

func TestBadInputOfBenchGetsOneSentence(t *testing.T) {
	t.Parallel()
	const help = " (see redlock-demo bench --help)"
	refuses(t, "bench", []mistake{
		{nil, "no masters are named: want --masters url,url,…, REDLOCK_MASTERS or --config file"},
		{[]string{"k"}, `unexpected argument "k"` + help},
		{[]string{"--goroutines", "0"}, `--goroutines "0": want a whole number from 1 to 10000` + help},
		{[]string{"--keys", "-1"}, `--keys "-1": want a whole number from 0 to 1000000` + help},
		{[]string{"--duration", "2h"}, `--duration "2h": want a duration from 100ms to 1h0m0s, such as 500ms or 2s` + help},
		{[]string{"--ttl", "1ms"}, `--ttl "1ms": want a duration from 20ms to 24h0m0s, such as 500ms or 2s` + help},
		{[]string{"--fence", "maybe"}, `--fence "maybe": want yes, no or both` + help},
		{[]string{"--guard", "some"}, `--guard "some": want off, standard or strict` + help},
		{[]string{"--max-ttl", "1ms"}, `--max-ttl "1ms": want 0 or a duration from 20ms to 24h0m0s, such as 500ms or 2s` + help},
		{[]string{"--masters", "redis://:secret@127.0.0.1:1", "--ttl", "2m"}, "--ttl 2m0s is above --max-ttl: want 20ms to 1m0s"},
		{[]string{"--masters", "http://:secret@h"}, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{[]string{"--masters", "redis://127.0.0.1:1", "--password-file", "/no/such/file"}, "--password-file: open /no/such/file: no such file or directory"},
		{[]string{"--masters", "rediss://127.0.0.1:1", "--tls-cert", "/no/such/file"}, "--tls-cert and --tls-key need each other"},
	})
}
