//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/doctor"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// sent returns a fault that sends a command to a master.
func sent(command string, args ...any) func(t *testing.T, m *redistest.Server) {
	return func(t *testing.T, m *redistest.Server) {
		t.Helper()
		do(t, []*redistest.Server{m}, command, args...)
	}
}

// A fault keeps a master from granting a lock, unless harmless. status prints says about two of them.
type fault struct {
	does     func(t *testing.T, m *redistest.Server)
	says     string
	harmless bool
	guard    string // level of the fleet; "": standard
}

var faults = map[string]fault{
	"killed": {does: func(t *testing.T, m *redistest.Server) { kill(t, m) }, says: "Start "},
	"frozen": {does: func(t *testing.T, m *redistest.Server) {
		t.Helper()
		if err := m.Freeze(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Thaw() })
	}, says: "No answer from "},
	"without memory":                {does: sent("CONFIG", "SET", "maxmemory", 1), says: "Raise maxmemory on "},
	"without replicas":              {does: sent("CONFIG", "SET", "min-replicas-to-write", 1), says: "Bring back the replicas of "},
	"that cannot save":              {does: cannotSave, says: "Mend the disk of "},
	"paused for writes":             {does: sent("CLIENT", "PAUSE", 60_000, "WRITE"), says: "when the pause ends"},
	"in a script that does not end": {does: busy, says: "SCRIPT KILL"},
	"a replica":                     {does: sent("REPLICAOF", "127.0.0.1", "1"), says: "REPLICAOF NO ONE"},
	"one that evicts":               {does: sent("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"), says: "maxmemory-policy noeviction"},
	"restarted with its data":       {does: func(t *testing.T, m *redistest.Server) { restart(t, true, m) }},
	"restarted without its data":    {does: func(t *testing.T, m *redistest.Server) { restart(t, false, m) }},
	"with another history": {does: func(t *testing.T, m *redistest.Server) {
		sent("REPLICAOF", "127.0.0.1", "1")(t, m)
		sent("REPLICAOF", "NO", "ONE")(t, m)
	}},
	"emptied":                      {does: sent("FLUSHALL")},
	"of another fleet":             {does: sent("HSET", guard.Key, "n", "5"), says: "Use the list and the settings of the fleet"},
	"with another database":        {does: sent("SWAPDB", 0, 1)},
	"one with another password":    {does: sent("ACL", "SETUSER", "locks", ">other", "<secret"), says: "Mend the credentials"},
	"one that denies SET":          {does: sent("ACL", "SETUSER", "locks", "-set"), says: "Permit what locks need on "},
	"one that denies scripts":      {does: sent("ACL", "SETUSER", "locks", "-eval"), says: "Permit what locks need on "},
	"one that denies its marker":   {does: sent("ACL", "SETUSER", "locks", "-hmget"), says: "Permit the guard's commands on "},
	"one that denies INFO":         {does: sent("ACL", "SETUSER", "locks", "-info"), harmless: true},
	"one that denies INFO, strict": {does: sent("ACL", "SETUSER", "locks", "-info"), says: "Permit +info on ", guard: "strict"},
	"one with a text for a marker": {does: sent("SET", guard.Key, "text"), says: "Rename or delete "},
	"with a clock that is off":     {does: setClock, harmless: true},
	// strict blames this machine's clock: most clocks differ from it in the same way.
	"with a clock that is off, strict": {does: setClock, says: "or this machine's, if that is off", guard: "strict"},
}

func setClock(t *testing.T, m *redistest.Server) {
	t.Helper()
	if err := m.SetClock(-time.Hour); err != nil {
		t.Fatal(err)
	}
}

// cannotSave makes the next snapshot fail, and with it every write.
func cannotSave(t *testing.T, m *redistest.Server) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(m.Dir(), "dump.rdb", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	sent("CONFIG", "SET", "save", "3600 1")(t, m)
	sent("BGSAVE")(t, m)
	testutil.Eventually(t, "the snapshot fails", func() bool {
		text, err := redis.String(m.Do("INFO", "persistence"))
		return err == nil && strings.Contains(text, "rdb_last_bgsave_status:err")
	})
}

// busy keeps a master in a script until the test ends.
func busy(t *testing.T, m *redistest.Server) {
	t.Helper()
	sent("CONFIG", "SET", "lua-time-limit", 5)(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := m.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = conn.Do("EVAL", "while true do end", 0) // ends with the process, or the connection
	}()
	t.Cleanup(func() {
		_ = m.Kill()
		_ = conn.Close()
		cancel()
		<-done
	})
	testutil.Eventually(t, "it is busy", func() bool {
		_, err := m.Do("PING")
		return err != nil && strings.Contains(err.Error(), "BUSY")
	})
}

// All three commands give the same answer to the question whether a lock can be taken.
func TestStatusDoctorAndExecAgreeInEveryFault(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := redistest.Config{AppendOnly: redistest.AppendAlways, ACL: []string{"user locks on >secret ~* &* +@all"}}
			if strings.Contains(name, "clock") {
				if err := redistest.ClockAvailable(); err != nil {
					t.Skipf("needs a redis-server whose clock can be moved: %v", err)
				}
				cfg.MovableClock = true
			}
			c, _ := processes(t, 3, cfg)
			n := newNight(t, c.URLs(), fault.guard)
			for affected := range 3 {
				if affected > 0 {
					fault.does(t, c.Masters[affected-1])
				}
				n.agree(affected < 2 || fault.harmless, fault.says)
			}
		})
	}
}

// These faults hit all masters at once, or exist from the beginning.
func TestStatusDoctorAndExecAgreeAboutTheWholeFleet(t *testing.T) {
	t.Parallel()
	acl := redistest.Config{AppendOnly: redistest.AppendAlways, ACL: []string{"user locks on >secret ~* &* +@all"}}
	for name, test := range map[string]func(t *testing.T){
		"emptied, and nobody knows": func(t *testing.T) {
			c, _ := processes(t, 3, acl)
			n := newNight(t, c.URLs(), "")
			do(t, c.Masters, "FLUSHALL")
			n.agree(true, "The fleet is new")
		},
		"emptied, as a client knows": func(t *testing.T) {
			c, _ := processes(t, 3, acl)
			n := newNight(t, c.URLs(), "")
			client := testutil.Opened(t, c, redlock.WithPool(pool.WithAuth("locks", "secret")))
			mustLock(t, client, "held")
			do(t, c.Masters, "FLUSHALL")
			testutil.Eventually(t, "the client has said so", func() bool {
				_, _ = client.TryLock(t.Context(), "other") // its check finds that the markers are gone
				return !slices.ContainsFunc(c.Masters, func(m *redistest.Server) bool {
					known, _ := redis.String(m.Do("HGET", guard.Sighting, "known"))
					how, _ := redis.String(m.Do("HGET", guard.Key, "how"))
					return known == "" && how != guard.HowEmptied
				})
			})
			n.agree(false, "2 votes at ")
		},
		"members of a Redis Cluster": func(t *testing.T) {
			var urls []string
			for range 3 {
				c, _ := processes(t, 1, redistest.Config{Member: true})
				urls = append(urls, c.URLs()...)
			}
			(&night{t: t, env: mastersOf(urls)}).agree(false, "List independent masters")
		},
		"with a command renamed": func(t *testing.T) {
			c, _ := processes(t, 3, redistest.Config{Args: []string{"--rename-command", "PEXPIRE", ""}})
			(&night{t: t, env: mastersOf(c.URLs())}).agree(false, "Permit what locks need on ")
		},
		"certificates of an authority that nobody knows": func(t *testing.T) {
			known, err := redistest.NewAuthority()
			if err != nil {
				t.Fatal(err)
			}
			other, err := redistest.NewAuthority()
			if err != nil {
				t.Fatal(err)
			}
			c, _ := processes(t, 3, redistest.Config{TLS: known})
			(&night{t: t, env: mastersOf(c.URLs()), access: []string{"--tls-ca", testutil.File(t, string(known.PEM()))}}).agree(true, "")
			(&night{t: t, env: mastersOf(c.URLs()), access: []string{"--tls-ca", testutil.File(t, string(other.PEM()))}}).agree(false, "Mend the credentials")
		},
		"one server under two names": func(t *testing.T) {
			c, _ := processes(t, 2, redistest.Config{})
			_, port, _ := strings.Cut(c.Masters[0].Addr(), ":")
			(&night{t: t, env: mastersOf([]string{c.URLs()[0], "redis://[::ffff:127.0.0.1]:" + port})}).agree(false, "List every server once")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// A night asks three commands about the same masters.
type night struct {
	t      *testing.T
	env    []string
	access []string
}

func mastersOf(urls []string) []string {
	return []string{app.MastersVariable + "=" + strings.Join(urls, ",")}
}

func withPassword(t *testing.T) []string {
	t.Helper()
	return []string{"--user", "locks", "--password-file", testutil.File(t, "secret\n")}
}

// newNight declares masters with the user locks a fleet of this level.
func newNight(t *testing.T, urls []string, level string) *night {
	t.Helper()
	n := &night{t: t, env: mastersOf(urls), access: withPassword(t)}
	args := append([]string{"init"}, n.access...)
	if level != "" {
		args = append(args, "--guard", level)
	}
	if _, stderr, code := output(t, n.env, args...); code != 0 {
		t.Fatal(stderr)
	}
	return n
}

// agree checks what status, doctor and exec say about whether a lock can be taken, and that status
// prints says. All of them read the settings from the markers.
func (n *night) agree(can bool, says string) {
	n.t.Helper()
	verdict := regexp.MustCompile(`(?m)^Can lock: ([^.]*)\.`)
	want, codes := "YES", [3]int{0, 0, 0}
	if !can {
		want, codes = "NO", [3]int{app.ExitNoQuorum, doctor.ExitSerious, app.ExitNoQuorum}
	}
	status, stderr, code := output(n.t, n.env, append([]string{"status", "k"}, n.access...)...)
	if found := verdict.FindStringSubmatch(status); found == nil || found[1] != want || code != codes[0] || !can && !strings.Contains(status, says) {
		n.t.Errorf("status: exit code %d, want %s\n%s%s", code, want, status, stderr)
	}
	report, stderr, code := output(n.t, n.env, append([]string{"doctor", "--for", "100ms"}, n.access...)...)
	if found := verdict.FindStringSubmatch(report); found == nil || found[1] != want || !can && code != codes[1] {
		n.t.Errorf("doctor: exit code %d, want %s\n%s%s", code, want, report, stderr)
	}
	patience := "0s"
	if can { // a busy machine may answer slowly, but a quarantine takes longer
		patience = "3s"
	}
	if _, stderr, code := output(n.t, n.env, slices.Concat([]string{"exec", "--try", "--wait-quorum", patience, "--ttl", "5s"}, n.access, []string{"k", "--", "true"})...); code != codes[2] {
		n.t.Errorf("exec: exit code %d, want %d: %s", code, codes[2], stderr)
	}
}
