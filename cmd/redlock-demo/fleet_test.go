package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/fleet"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

func TestFleetCloseSaysWhenTheNewFleetMayBeUsedAlone(t *testing.T) {
	t.Parallel()
	from, old := processes(t, 3, redistest.Config{})
	_, young := processes(t, 3, redistest.Config{})
	initialize(t, old, "--max-ttl", "2s")
	initialize(t, young, "--max-ttl", "2s")
	forgotten := rig.Opened(t, from, redlock.WithMaxTTL(2*time.Second), redlock.WithTTL(time.Second))
	if err := forgotten.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	closing := []string{"fleet", "close", "--masters", old, "--to", young, "--max-ttl", "2s"}
	stdout, stderr, code := output(t, nil, closing...)
	if code != app.ExitBusy || stderr != "" || strings.Count(stdout, " yes\n") != 3 || !strings.Contains(stdout, "They may still hold locks until") {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	id := markerOf(t, from.Masters[0]).To
	if len(id) != 20 {
		t.Errorf("the marker says that the fleet goes to %q", id)
	}
	for _, back := range [][]string{nil, {"--force"}} {
		back = append([]string{"fleet", "close", "--masters", young, "--to", old, "--max-ttl", "2s"}, back...)
		if stdout, stderr, code := output(t, nil, back...); code != app.ExitUsage || stdout != "" || !strings.Contains(stderr, "that fleet is being moved itself, to \""+id+"\"") {
			t.Errorf("%q: exit code %d, %q\n%s", back, code, stderr, stdout)
		}
	}
	// It notices at the end of its next flush, and is told from then on.
	var err error
	for range 2 {
		_, err = forgotten.Lock(t.Context(), "k")
	}
	if why, ok := errors.AsType[*redlock.AbstainError](err); !ok || why.Cause != redlock.AbstainMoved || !strings.Contains(err.Error(), "this fleet is being moved to "+id) {
		t.Errorf("who was forgotten is told %v", err)
	}
	rig.Eventually(t, "no lock of before is left", func() bool {
		stdout, stderr, code = output(t, nil, closing...)
		return code != app.ExitBusy
	})
	if code != 0 || stderr != "" || !strings.Contains(stdout, "clients may use the new fleet alone") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if r, code := document[fleet.ClosingReport](t, nil, append(closing, "--json")...); code != 0 || r.To != id || len(r.Closed) != 3 || r.Open != nil || r.LeftMS != 0 || r.Until != nil {
		t.Errorf("exit code %d, %+v", code, r)
	}
}

func TestFleetCloseNeedsEnoughMasters(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	initialize(t, urls)
	if stdout, stderr, code := output(t, nil, "fleet", "close", "--masters", urls, "--to", "redis://127.0.0.1:1"); code != app.ExitNoQuorum || stdout != "" || !strings.Contains(stderr, "0 of 1 master of --to") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	kill(t, c.Masters[:2]...)
	stdout, stderr, code := output(t, nil, "fleet", "close", "--masters", urls, "--to", "elsewhere")
	if code != app.ExitNoQuorum || strings.Count(stdout, "✗") != 2 || !strings.Contains(stdout, "is not closed") || !strings.Contains(stderr, "1 of 3 masters agreed, 2 needed") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
