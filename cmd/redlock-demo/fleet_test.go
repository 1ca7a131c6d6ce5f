package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

func TestFleetCloseSaysWhenTheNewFleetMayBeUsedAlone(t *testing.T) {
	t.Parallel()
	from, old := processes(t, 3, redistest.Config{})
	_, young := processes(t, 3, redistest.Config{})
	for _, urls := range []string{old, young} {
		if stdout, stderr, code := output(t, nil, "init", "--masters", urls, "--max-ttl", "2s"); code != 0 {
			t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
		}
	}
	forgotten, err := redlock.Open(from.URLs(), redlock.WithMaxTTL(2*time.Second), redlock.WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer forgotten.Close()
	if err := forgotten.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	closing := []string{"fleet", "close", "--masters", old, "--to", young, "--max-ttl", "2s"}
	stdout, stderr, code := output(t, nil, closing...)
	if code != exitBusy || stderr != "" || strings.Count(stdout, " yes\n") != 3 || !strings.Contains(stdout, "They may still hold locks until") {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	id := markerOf(t, from.Masters[0]).To
	if len(id) != 20 {
		t.Errorf("the marker says that the fleet goes to %q", id)
	}
	// It notices at the end of its next flush, and is told from then on.
	for range 2 {
		_, err = forgotten.Lock(t.Context(), "k")
	}
	if why, ok := errors.AsType[*redlock.AbstainError](err); !ok || why.Cause != redlock.AbstainMoved || !strings.Contains(err.Error(), "this fleet is being moved to "+id) {
		t.Errorf("who was forgotten is told %v", err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for code == exitBusy && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
		stdout, stderr, code = output(t, nil, closing...)
	}
	if code != 0 || stderr != "" || !strings.Contains(stdout, "clients may use the new fleet alone") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	stdout, _, code = output(t, nil, append(closing, "--json")...)
	var r closingReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || r.To != id || len(r.Closed) != 3 || r.Open != nil || r.LeftMS != 0 || r.Until != nil {
		t.Errorf("%v, exit code %d\n%s", err, code, stdout)
	}
}

func TestFleetCloseNeedsEnoughMasters(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	if stdout, stderr, code := output(t, nil, "init", "--masters", urls); code != 0 {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if stdout, stderr, code := output(t, nil, "fleet", "close", "--masters", urls, "--to", "redis://127.0.0.1:1"); code != exitNoQuorum || stdout != "" || !strings.Contains(stderr, "0 of 1 master of --to") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	for _, m := range c.Masters[:2] {
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := output(t, nil, "fleet", "close", "--masters", urls, "--to", "elsewhere")
	if code != exitNoQuorum || strings.Count(stdout, "✗") != 2 || !strings.Contains(stdout, "is not closed") || !strings.Contains(stderr, "1 of 3 masters agreed, 2 needed") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestBadArgumentsOfFleetCloseAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"close"}, {"close", "--to", "x"}, {"close", "--masters", "redis://a:1", "--to", ""}, {"close", "--masters", "redis://a:1", "--to", "a b"},
		{"close", "--masters", "redis://a:1", "--to", "redis://b:1,"}, {"close", "--masters", "redis://a:1", "--to", "http://b:1"},
		{"close", "--masters", "redis://a:1", "--to", "x", "--guard", "off"}, {"open"}, {"close", "x"},
	} {
		stdout, stderr, code := output(t, []string{"REDLOCK_MASTERS="}, append([]string{"fleet"}, args...)...)
		if code != exitUsage || stdout != "" || stderr == "" {
			t.Errorf("%q: exit code %d, %q\n%s", args, code, stderr, stdout)
		}
	}
}
