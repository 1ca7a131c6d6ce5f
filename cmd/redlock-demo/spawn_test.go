//go:build unix

package main

import (
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

// server is the redis-server that these tests spawn.
func server(t *testing.T) string {
	t.Helper()
	needsRedis(t)
	path, _, err := redistest.Find()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkNothingStays checks that the processes at the addresses are gone, and
// that the directory in which they kept their files is empty.
func checkNothingStays(t *testing.T, addresses []string, dir string) {
	t.Helper()
	if len(addresses) != 5 {
		t.Errorf("addresses %q, want 5", addresses)
	}
	for _, address := range addresses {
		if conn, err := net.DialTimeout("tcp", address, 5*time.Second); err == nil {
			_ = conn.Close()
			t.Errorf("somebody still listens on %s", address)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("left behind: %s", entry.Name())
	}
}

func TestSpawnedMastersAreKilledAndRestarted(t *testing.T) {
	path, dir := server(t), t.TempDir()
	stdout, stderr, code := output(t, []string{"TMPDIR=" + dir}, "--spawn", path, "--json")
	doc := rig.Parse[sale](t, stdout)
	if code != 0 || stderr != "" || doc.Verdict != "passed" || doc.Settings.Masters != "spawned" || len(doc.Expectations) != 12 {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if !strings.HasPrefix(doc.Versions["masters"], "redis-server ") || !strings.Contains(doc.Versions["masters"], path) {
		t.Errorf("versions %q", doc.Versions)
	}
	var addresses []string
	for _, m := range doc.Masters {
		addresses = append(addresses, m.Address)
	}
	checkNothingStays(t, addresses, dir)
}

func TestSpawnedMastersEndWithASignal(t *testing.T) {
	path, dir := server(t), t.TempDir()
	r := startCommand(t, command(t, []string{"TMPDIR=" + dir}, "--spawn", path))
	r.stdout.await(t, "1  Without a lock")
	r.signal(t, syscall.SIGTERM)
	began := time.Now()
	if code := r.end(t); code != 143 || r.stderr.String() != "redlock-demo: ended by SIGTERM\n" {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("ended %v after the signal", took)
	}
	checkNothingStays(t, regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(r.stdout.String(), -1), dir)
}
