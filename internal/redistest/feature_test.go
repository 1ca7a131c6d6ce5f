package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestATestIsSkippedForEachFeatureThatTheServerIsTooOldFor(t *testing.T) {
	for says, want := range map[string][]string{
		"Redis server v=5.0.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64": {"left out on this server: it has no ACL (Redis 6.0), no error for a TTL that overflows (Redis 6.2)"},
		"Redis server v=6.0.16":  {"left out on this server: it has no error for a TTL that overflows (Redis 6.2)"},
		"Redis server v=6.2.0":   nil,
		"Redis server v=10.0":    nil,
		"Valkey server v=8.0.1 ": nil,
	} {
		server := filepath.Join(t.TempDir(), "redis-server")
		if err := os.WriteFile(server, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(ServerVariable, server)
		var r recorder
		if Need(&r, ACL, BoundedTTL); !slices.Equal(r.skips, want) || len(r.fatal) != 0 {
			t.Errorf("%s: skipped %q, failed %q; want %q", says, r.skips, r.fatal, want)
		}
	}
}

func TestWithoutRedisATestIsSkippedOrFails(t *testing.T) {
	t.Setenv(ServerVariable, "/no/such/redis-server")
	for value, required := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv(RequireVariable, value)
		var r recorder
		if c := Start(&r, 1, Config{}); c != nil {
			t.Errorf("Start returned %v", c)
		}
		said, other := r.skips, r.fatal
		if required {
			said, other = r.fatal, r.skips
		}
		if len(said) != 1 || len(other) != 0 || !strings.Contains(said[0], "/no/such/redis-server") || !strings.Contains(said[0], ServerVariable) {
			t.Errorf("%s=%s: skipped %q, failed %q", RequireVariable, value, r.skips, r.fatal)
		}
	}
}

// recorder is a test that notes why it is skipped or fails.
type recorder struct{ fatal, skips []string }

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(func())            {}
func (r *recorder) Failed() bool              { return false }
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(string, ...any)     {}
func (r *recorder) Fatalf(f string, a ...any) { r.fatal = append(r.fatal, fmt.Sprintf(f, a...)) }
func (r *recorder) Skipf(f string, a ...any)  { r.skips = append(r.skips, fmt.Sprintf(f, a...)) }
