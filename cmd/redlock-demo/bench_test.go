package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

func TestBenchMeasuresContendedLocksAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	r, code := document[bench.Result](t, nil, "bench", "--json", "--masters", urls, "--duration", "300ms", "--goroutines", "8", "--keys", "2", "--fence", "no", "--guard", "off")
	if code != 0 || r.Masters != 3 || r.Quorum != 2 || r.Keys != 2 || len(r.Rows) != 1 || len(r.Left) != 0 {
		t.Fatalf("exit code %d, %+v", code, r)
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
	initialize(t, urls, "--max-ttl", "30s")
	before := *markerOf(t, c.Masters[0])
	r, code := document[bench.Result](t, nil, "bench", "--json", "--masters", urls, "--duration", "200ms")
	if code != 0 || len(r.Rows) != 4 || len(r.Left) > 0 {
		t.Fatalf("exit code %d, %+v", code, r)
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
		if n := keysOn(t, m, "*"); n != 1 {
			t.Errorf("%d keys, want the marker", n)
		}
	}
	if after := *markerOf(t, c.Masters[0]); after != before {
		t.Errorf("the marker is %+v, was %+v", after, before)
	}
	stdout, stderr, code := output(t, nil, "bench", "--masters", urls, "--duration", "200ms", "--ttl", "40s", "--fence", "no")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "standard  no       WithTTL: 40s is above WithMaxTTL") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestBenchCleansUpWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	r := startCommand(t, command(t, nil, "bench", "--masters", urls, "--duration", "1m", "--keys", "1", "--guard", "off", "--fence", "no"))
	eventually(t, "it locks", func() bool { return keysOn(t, c.Masters[0], "redlock-demo:bench:*") > 0 })
	r.signal(t, os.Interrupt)
	if code := r.end(t); code != 130 || r.stderr.String() != "redlock-demo: ended by SIGINT\n" || !strings.Contains(r.stdout.String(), "off") {
		t.Errorf("exit code %d, %q\n%s", code, r.stderr.String(), r.stdout.String())
	}
	checkEmpty(t, c)
}

func TestBenchGoesOnWithAMasterGone(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	kill(t, c.Masters[2])
	args := []string{"bench", "--masters", urls, "--duration", "200ms", "--guard", "off", "--fence", "no"}
	stdout, stderr, code := output(t, nil, args...)
	away := "\nout of reach all along, so nothing was written there: " + c.Masters[2].Addr() + "\n"
	if code != 0 || stderr != "" || !strings.HasSuffix(stdout, away) || strings.Contains(stdout, "not removed") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	kill(t, c.Masters[1])
	stdout, stderr, code = output(t, nil, args...)
	if code != exitNoQuorum || !strings.HasPrefix(stderr, "redlock-demo: no quorum within 5 s: 2 of 3 masters are down (") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stdout, "\nnothing was measured\n") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestBenchSaysWhatItCouldNotRemove(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	r := startCommand(t, command(t, nil, "bench", "--masters", urls, "--duration", "1s", "--guard", "off", "--fence", "no"))
	eventually(t, "the master has granted a lock", func() bool {
		reply, err := c.Masters[2].Do("INFO", "commandstats")
		text, _ := reply.([]byte)
		return err == nil && bytes.Contains(text, []byte("cmdstat_set:"))
	})
	kill(t, c.Masters[2])
	want := "\nnot removed from " + c.Masters[2].Addr() + ": "
	code, text := r.end(t), r.stdout.String()
	if code != 0 || !strings.Contains(text, want) || !strings.HasSuffix(text, ". The keys expire by themselves\n") || strings.Contains(text, "all along") {
		t.Errorf("exit code %d, %s\n%s", code, r.stderr.String(), text)
	}
}

func TestBenchSpreadsItsKeysOverTheFleets(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"eu": redistest.Start(t, 1, redistest.Config{}), "us": redistest.Start(t, 3, redistest.Config{})}
	shards := shardsOf(t, named, redlock.WithGuard(redlock.GuardOff)) // which writes no marker
	args := []string{"bench", "--json", "--duration", "300ms", "--goroutines", "4", "--keys", "40", "--guard", "off", "--fence", "no"}
	for name, c := range named {
		args = append(args, "--masters", name+"="+addresses(c))
	}
	r, code := document[bench.Result](t, nil, args...)
	if code != 0 || len(r.Rows) != 1 || len(r.Left) != 0 || r.Masters != 0 || r.Keys != 40 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	if row := r.Rows[0]; row.Pairs < 40 || len(row.Errors) != 0 {
		t.Errorf("%+v", row)
	}
	keys := map[string]int{}
	for n := range 40 {
		keys[shards.Shard(r.Prefix+strconv.Itoa(n))]++
	}
	want := fmt.Sprint([]bench.Share{{Name: "eu", Masters: 1, Quorum: 1, Keys: keys["eu"]}, {Name: "us", Masters: 3, Quorum: 2, Keys: keys["us"]}})
	if fmt.Sprint(r.Fleets) != want {
		t.Errorf("%v, want %s", r.Fleets, want)
	}
	for name, c := range named {
		stats, err := c.Masters[0].Do("INFO", "commandstats")
		if err != nil || !bytes.Contains(stats.([]byte), []byte("cmdstat_set:")) {
			t.Errorf("no lock was taken in %s: %v", name, err)
		}
		checkEmpty(t, c)
	}
}

func TestBenchSaysWhichFleetHasNoQuorum(t *testing.T) {
	t.Parallel()
	_, eu := processes(t, 1, redistest.Config{})
	down, us := processes(t, 1, redistest.Config{})
	kill(t, down.Masters[0])
	stdout, stderr, code := output(t, nil, "bench", "--duration", "100ms", "--guard", "off", "--fence", "no", "--masters", "eu="+eu, "--masters", "us="+us)
	if code != exitNoQuorum || !inOrder(stderr, `no quorum in fleet "us" within `, "1 of 1 master is down") || !inOrder(stdout, `fleet "eu"`, `fleet "us"`, "nothing was measured") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
