//go:build unix

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/status"
	"github.com/redquorum/redquorum/internal/redistest"
)

func TestStatusShowsWhoWaits(t *testing.T) {
	t.Parallel()
	masters := redistest.Start(t, 3, redistest.Config{})
	holder := rig.Opened(t, masters)
	l := mustLock(t, holder, "invoices")
	urls := strings.Join(masters.URLs(), ",")
	status := func() *observe.WaitingStatus {
		d, code := document[status.StatusDocument](t, nil, "status", "--json", "--masters", urls, "invoices")
		if code != 0 || !d.CanLock || len(d.Keys) != 1 || d.Keys[0].Waiting == nil {
			t.Fatalf("exit code %d, %+v", code, d)
		}
		return d.Keys[0].Waiting
	}
	if w := status(); w.Count != 0 || len(w.Clients) != 0 || w.Error != "" {
		t.Errorf("nobody waits, and %+v", w)
	}
	var waiters [2]*exec.Cmd
	for i := range waiters {
		waiters[i] = command(t, nil, "exec", "--masters", urls, "--wait", "1m", "invoices", "--", "true")
		if err := waiters[i].Start(); err != nil {
			t.Fatal(err)
		}
		rig.Eventually(t, "the client waits", func() bool { return status().Count == i+1 })
	}
	w := status()
	if len(w.Clients) != 2 || w.Clients[0].Client == w.Clients[1].Client || w.Clients[0].ForMS < w.Clients[1].ForMS || w.Clients[1].ForMS <= 0 || w.Error != "" {
		t.Errorf("%+v", w)
	}
	for i, cmd := range waiters {
		if !strings.HasSuffix(w.Clients[i].Owner, fmt.Sprintf("/%d", cmd.Process.Pid)) {
			t.Errorf("%+v is process %d", w.Clients[i], cmd.Process.Pid)
		}
	}
	stdout, stderr, code := output(t, nil, "status", "--masters", urls, "invoices")
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "Can lock: YES. 3 of 3 masters vote, 2 needed.\n\ninvoices: held by ") || !strings.Contains(stdout, "\n   2 clients wait: "+w.Clients[0].Owner+" (") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	for _, cmd := range waiters {
		if code := codeOf(t, cmd.Wait()); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	if w := status(); w.Count != 0 {
		t.Errorf("nobody waits any more, and %+v", w)
	}
}
