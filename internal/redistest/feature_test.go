package redistest

import (
	"slices"
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

func TestATestIsSkippedForEachFeatureThatTheServerLacks(t *testing.T) {
	needRedis(t)
	ping := Feature{name: "PING", since: "1.0", shown: listed("COMMAND", "INFO", "ping")}
	port := Feature{name: "ports", since: "1.0", shown: listed("CONFIG", "GET", "port")}
	failure := Feature{name: "errors", since: "1.0", shown: refused("GET")}
	none := Feature{name: "refusal", since: "99", shown: refused("PING")}
	command := Feature{name: "such command", since: "99", shown: listed("COMMAND", "INFO", "no-such-command")}
	setting := Feature{name: "such setting", since: "99", shown: listed("CONFIG", "GET", "no-such-setting")}
	for _, c := range []struct {
		features []Feature
		want     []string
	}{
		{[]Feature{ping, port, failure}, nil},
		{[]Feature{ping, command}, []string{"left out on this server: it has no such command (Redis 99)"}},
		{[]Feature{none}, []string{"left out on this server: it has no refusal (Redis 99)"}},
		{[]Feature{command, port, setting}, []string{"left out on this server: it has no such command (Redis 99), no such setting (Redis 99)"}},
	} {
		var r recorder
		Need(&r, c.features...)
		if !slices.Equal(r.skips, c.want) || len(r.fatal) != 0 {
			t.Errorf("skipped %q, failed %q; want %q", r.skips, r.fatal, c.want)
		}
	}
}
