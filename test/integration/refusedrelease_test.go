package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/integration/internal/refusal"
)

// refusesReleases returns the states in which masters refuse a release.
func refusesReleases(t *testing.T) (states []refusal.State) {
	t.Helper()
	do := func(command string, args ...any) func(m *redistest.Server) error {
		return func(m *redistest.Server) error { _, err := m.Do(command, args...); return err }
	}
	for _, s := range refusal.States {
		scripts := s.Word == "NOREPLICAS" && redistest.Missing(redistest.ReplicasForScripts) != nil
		if s.Word != "OOM" && !scripts { // a master without memory still deletes
			states = append(states, s)
		}
	}
	stale := func(m *redistest.Server) error {
		if err := do("CONFIG", "SET", "replica-serve-stale-data", "no")(m); err != nil {
			return err
		}
		return do("REPLICAOF", "127.0.0.1", "1")(m)
	}
	return append(states,
		refusal.State{Name: "no permission", Word: "NOPERM",
			Start: do("ACL", "SETUSER", "default", "-del"), Finish: do("ACL", "SETUSER", "default", "+del")},
		refusal.State{Name: "a replica without data", Word: "MASTERDOWN", Start: stale, Finish: do("REPLICAOF", "NO", "ONE")})
}

// A refused release is sent again until it succeeds, whatever the reason. The key is free before
// its TTL has passed.
func TestRefusedReleaseIsSentAgainUntilItSucceeds(t *testing.T) {
	t.Parallel()
	for _, state := range refusesReleases(t) {
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, five)
			p.trusting = true
			p.dropFences()
			c := p.open(redlock.WithTTL(time.Minute))
			ctx := context.Background()
			held := []*redlock.Lock{mustTry(t, c, "lock"), mustTry(t, c, "fenced", redlock.WithFencing())}
			set, err := c.LockAll(ctx, []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, set, mustRead(t, c, "read"))
			for _, m := range p.servers {
				if err := state.Start(m); err != nil {
					t.Fatal(err)
				}
			}
			for _, l := range held {
				began := time.Now()
				err := l.Unlock(ctx)
				if err == nil && state.Word == "NOPERM" && l.Key() == "read" { // its release uses no DEL
					continue
				}
				if !matchesExactly(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), state.Word) && state.Word != "NOPERM" {
					t.Errorf("Unlock of %s: %v", l.Key(), err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("Unlock of %s took %v", l.Key(), took)
				}
			}
			time.Sleep(5 * time.Second)
			for _, m := range p.servers {
				if err := state.Finish(m); err != nil {
					t.Fatal(err)
				}
			}
			writes := time.Now()
			for _, key := range []string{"lock", "fenced", "a", "b", "read"} {
				testutil.Within(t, 15*time.Second, "the key is free", func() bool { return p.free(key) })
			}
			t.Logf("free %v after the masters write again", time.Since(writes).Round(time.Millisecond))
		})
	}
}

// After Close nobody would send them.
func TestCloseSendsRefusedReleasesOnceMore(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, five)
	p.trusting = true
	state := refusal.States[1]
	c := p.open(redlock.WithTTL(time.Minute))
	l := mustTry(t, c, "lock")
	for _, m := range p.servers {
		if err := state.Start(m); err != nil {
			t.Fatal(err)
		}
	}
	wantExactly(t, "Unlock", l.Unlock(context.Background()), redlock.ErrNoQuorum)
	time.Sleep(time.Second) // the next pause is a long one
	for _, m := range p.servers {
		if err := state.Finish(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the key is free", func() bool { return p.free("lock") })
}
