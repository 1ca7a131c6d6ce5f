package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

func TestBenchSpreadsItsKeysOverTheFleets(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"eu": redistest.Start(t, 1, redistest.Config{}), "us": redistest.Start(t, 3, redistest.Config{})}
	args := []string{"bench", "--json", "--duration", "300ms", "--goroutines", "4", "--keys", "40", "--guard", "off", "--fence", "no"}
	byName := map[string]fleets.Locker{}
	for name, c := range named {
		urls := ""
		for _, url := range c.URLs() {
			urls += "," + url
		}
		args = append(args, "--masters", name+"="+urls[1:])
		client, err := redlock.Open(c.URLs(), redlock.WithGuard(redlock.GuardOff)) // which writes no marker
		if err != nil {
			t.Fatal(err)
		}
		byName[name] = fleets.One(client)
	}
	shards, err := fleets.Sharded(byName)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shards.Close() }()
	stdout, stderr, code := output(t, nil, args...)
	var r bench.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || stderr != "" || len(r.Rows) != 1 || len(r.Left) != 0 || r.Masters != 0 || r.Keys != 40 {
		t.Fatalf("%v, exit code %d, %q\n%s", err, code, stderr, stdout)
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
	if err := down.Masters[0].Kill(); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := output(t, nil, "bench", "--duration", "100ms", "--guard", "off", "--fence", "no", "--masters", "eu="+eu, "--masters", "us="+us)
	if code != exitNoQuorum || !inOrder(stderr, `no quorum in fleet "us" within `, "1 of 1 master is down") || !inOrder(stdout, `fleet "eu"`, `fleet "us"`, "nothing was measured") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestAMeasurementOfSeveralFleetsIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	r := &bench.Result{
		Goroutines: 16, Keys: 2000, TTLMS: 10_000, Fleets: []bench.Share{{Name: "eu", Masters: 3, Quorum: 2, Keys: 1012}, {Name: "us", Masters: 5, Quorum: 3, Keys: 988}},
		Rows: []bench.Row{{Guard: "off", Pairs: 37_240, PairsPerSec: 7448.4, Lock: bench.Latency{P50: 710, P90: 2000, P99: 4300, Max: 69_000}, Unlock: bench.Latency{P50: 720, P99: 4200}}},
	}
	var text bytes.Buffer
	if err := (&benchView{out: &text}).print(r, 5*time.Second); err != nil {
		t.Error(err)
	}
	golden(t, "bench-fleets", text.String())
}
