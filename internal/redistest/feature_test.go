package redistest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Otherwise tests would be left out on servers that have what they need.
func TestAServerIsSaidToLackWhatItCannotBeConfiguredWith(t *testing.T) {
	needRedis(t)
	for name, cfg := range map[string]Config{
		"ACL": {ACL: []string{"user default on nopass ~* +@all"}},
		"TLS": {TLS: authority(t)},
	} {
		t.Run(name, func(t *testing.T) {
			missing := Missing(cfg.Needs()...)
			s, err := Launch(background(t), cfg)
			if err == nil {
				err = s.Close()
			}
			if (missing == nil) != (err == nil) {
				t.Errorf("it is said: %v; launched with it: %v", missing, err)
			}
		})
	}
}

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

func TestAServerThatDoesNotStartFailsTheTestAndSaysWhy(t *testing.T) {
	needRedis(t)
	var r recorder
	if c := Start(&r, 1, Config{Args: []string{"--no-such-directive", "1"}}); c != nil {
		t.Errorf("Start returned %v", c)
	}
	if len(r.fatal) != 1 || !strings.Contains(r.fatal[0], "no-such-directive") || len(r.skips) != 0 {
		t.Errorf("failed %q, skipped %q", r.fatal, r.skips)
	}
}
