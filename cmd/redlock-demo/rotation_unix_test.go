//go:build unix

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

// The runbook says: add the new password, give it to the clients, take the old one away.
func TestAJobKeepsItsLockWhileThePasswordIsChanged(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways, ACL: []string{"user locks on >old ~* &* +@all"}})
	password := rig.File(t, "old\n")
	r := startCommand(t, command(t, nil, "exec", "--masters", urls, "--user", "locks", "--password-file", password, "--ttl", "2s", "k", "--", "sh", "-c", "echo ready; read line"))
	r.stdout.await(t, "ready")
	do(t, c.Masters, "ACL", "SETUSER", "locks", ">new")
	if err := os.WriteFile(password, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, c.Masters, "ACL", "SETUSER", "locks", "<old")
	do(t, c.Masters, "CLIENT", "KILL", "USER", "locks")
	held := value(t, c.Masters[0], "k")
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // two TTLs
		if held == "" || value(t, c.Masters[0], "k") != held {
			t.Fatalf("the lock is gone: %s", r.stderr.String())
		}
	}
	r.say(t, "")
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d, %s", code, r.stderr.String())
	}
}

// Masters that refuse a password answer; they are not silent.
func TestALockThatIsLostToAPasswordSaysSo(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways, ACL: []string{"user locks on >old ~* &* +@all"}})
	r := startCommand(t, command(t, nil, "exec", "--masters", urls, "--user", "locks", "--password-file", rig.File(t, "old\n"), "--ttl", "1s", "k", "--", "sh", "-c", "echo ready; exec sleep 60"))
	r.stdout.await(t, "ready")
	do(t, c.Masters, "ACL", "SETUSER", "locks", ">new", "<old")
	do(t, c.Masters, "CLIENT", "KILL", "USER", "locks")
	if code := r.end(t); code != app.ExitLost || !strings.Contains(r.stderr.String(), "password refused") || strings.Contains(r.stderr.String(), "not answer") {
		t.Errorf("exit code %d, %s", code, r.stderr.String())
	}
}
