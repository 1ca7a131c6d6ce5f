package integration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// A refusal is a state of a master in which it refuses to write, and the word
// by which it says so.
type refusal struct {
	name   string
	word   string
	start  func(p *processes, i int)
	finish func(p *processes, i int)
	// What a master in this state does for those that hold a lock.
	extends, releases bool
	// Servers without it let scripts write in this state, and those prolong and release.
	forScripts *redistest.Feature
}

var refusals = []refusal{
	{
		name: "out of memory", word: "OOM", extends: true, releases: true,
		start:  func(p *processes, i int) { p.do(i, "CONFIG", "SET", "maxmemory", "1") },
		finish: func(p *processes, i int) { p.do(i, "CONFIG", "SET", "maxmemory", "0") },
	},
	{
		name: "a replica", word: "READONLY",
		// Of a master that is not there: nothing is synchronized.
		start:  func(p *processes, i int) { p.do(i, "REPLICAOF", "127.0.0.1", "1") },
		finish: func(p *processes, i int) { p.do(i, "REPLICAOF", "NO", "ONE") },
	},
	{
		name: "too few replicas", word: "NOREPLICAS", forScripts: &redistest.ReplicasForScripts,
		start:  func(p *processes, i int) { p.do(i, "CONFIG", "SET", "min-replicas-to-write", "1") },
		finish: func(p *processes, i int) { p.do(i, "CONFIG", "SET", "min-replicas-to-write", "0") },
	},
	{
		name: "snapshots fail", word: "MISCONF",
		start: func(p *processes, i int) {
			dump := filepath.Join(p.servers[i].Dir(), "dump.rdb", "in the way")
			if err := os.MkdirAll(dump, 0o700); err != nil {
				p.t.Fatal(err)
			}
			p.do(i, "CONFIG", "SET", "save", "3600 1")
			p.do(i, "BGSAVE")
			eventually(p.t, "the snapshot has failed", func() bool {
				info, err := redis.String(p.command(i, "INFO", "persistence"))
				return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
			})
		},
		finish: func(p *processes, i int) { p.do(i, "CONFIG", "SET", "save", "") },
	},
	{
		name: "busy with a script", word: "BUSY",
		start: func(p *processes, i int) {
			p.do(i, "CONFIG", "SET", "lua-time-limit", "1")
			conn, err := p.servers[i].Dial(context.Background())
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { _ = conn.Close() })
			// The script runs until it is killed, and its caller does not wait.
			if err := errors.Join(conn.Send("EVAL", `while true do end`, 0), conn.Flush()); err != nil {
				p.t.Fatal(err)
			}
			eventually(p.t, "the master is busy", func() bool {
				_, err := p.command(i, "GET", "any")
				return err != nil && strings.Contains(err.Error(), "BUSY")
			})
		},
		finish: func(p *processes, i int) {
			p.do(i, "SCRIPT", "KILL")
			eventually(p.t, "the script has ended", func() bool {
				_, err := p.command(i, "PING")
				return err == nil
			})
		},
	},
}

// A master that refuses to write has no vote; what it said is in the error. With
// two such masters everything goes on.
func TestAMasterThatRefusesToWriteHasNoVoteAndIsNamed(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			p.dropFences()
			c := p.open(redlock.WithTTL(longTTL))
			fenced := p.open(redlock.WithTTL(longTTL), redlock.WithFencing())
			ctx := context.Background()
			before := mustTry(t, c, "held")
			eventually(t, "all have the key", func() bool { return p.holders("held", before.Token()) == five })

			r.start(p, 0)
			r.start(p, 1)
			l := mustTry(t, c, "lock")
			for _, l := range []*redlock.Lock{before, l} {
				if err := l.Extend(ctx); err != nil {
					t.Errorf("Extend of %s with three that write: %v", l.Key(), err)
				}
			}
			mustUnlock(t, l)

			r.start(p, 2)
			_, err := c.TryLock(ctx, "lock")
			wantExactly(t, "TryLock with two that write", err, redlock.ErrNoQuorum)
			named := causes(t, err)
			for i := range 3 {
				if cause := named[p.address(i)]; cause == nil || !strings.Contains(cause.Error(), r.word) {
					t.Errorf("master %d says %s, named for %v", i, r.word, cause)
				}
			}
			// What need not be prolonged is not written, and so not refused.
			for i := range 3 {
				eventually(t, "the key can be prolonged", func() bool {
					left, err := redis.Int64(p.command(i, "PTTL", "held"))
					return err != nil || left < longTTL.Milliseconds()
				})
			}
			scripts := r.forScripts != nil && redistest.Missing(*r.forScripts) != nil
			if scripts {
				r.extends, r.releases = true, true
			}
			// A script takes it.
			l, err = fenced.TryLock(ctx, "fenced")
			wantQuorumOf(t, "TryLock of a fenced lock", scripts, err)
			if err == nil {
				mustUnlock(t, l)
			} else if !strings.Contains(err.Error(), r.word) {
				t.Errorf("masters say %s to a script, and the error %q", r.word, err)
			}
			wantQuorumOf(t, "Extend", r.extends, before.Extend(ctx))
			wantQuorumOf(t, "Unlock", r.releases, before.Unlock(ctx))

			for i := range 3 {
				r.finish(p, i)
			}
			if !r.releases {
				p.remove("held") // its release was refused
			}
			mustUnlock(t, mustTry(t, c, "lock"))
			p.wantFree("lock")
			p.wantFree("held")
			p.wantFree("fenced")
		})
	}
}

func wantQuorumOf(t *testing.T, what string, all bool, err error) {
	t.Helper()
	if all && err != nil {
		t.Errorf("%s: %v, want success", what, err)
	}
	if !all {
		wantExactly(t, what, err, redlock.ErrNoQuorum)
	}
}

// A key of another type at the lock's name is somebody's data.
func TestAKeyOfAnotherTypeIsTakenAndNeverOverwritten(t *testing.T) {
	for _, test := range []struct {
		kind string
		make []any
	}{
		{"hash", []any{"HSET", "lock", "field", "value"}},
		{"list", []any{"RPUSH", "lock", "value"}},
		{"set", []any{"SADD", "lock", "value"}},
		{"zset", []any{"ZADD", "lock", 1, "value"}},
		{"stream", []any{"XADD", "lock", "*", "field", "value"}},
		{"string", []any{"SET", "lock", "data without an expiry"}},
	} {
		t.Run(test.kind, func(t *testing.T) {
			p := startProcesses(t, five)
			c := p.open(redlock.WithTTL(longTTL))
			ctx := context.Background()
			dump := func(i int) string {
				s, err := redis.String(p.command(i, "DUMP", "lock"))
				if err != nil {
					t.Fatalf("master %d: DUMP: %v", i, err)
				}
				return s
			}
			put := func(i int) string {
				p.do(i, test.make[0].(string), test.make[1:]...)
				return dump(i)
			}
			data := []string{put(0), put(1)}
			l := mustTry(t, c, "lock") // three are free
			if err := l.Extend(ctx); err != nil {
				t.Error(err)
			}
			mustUnlock(t, l)
			data = append(data, put(2))
			eventually(t, "type and expiry are told", func() bool {
				_, err := c.TryLock(ctx, "lock")
				wantExactly(t, "TryLock", err, redlock.ErrTaken)
				h, ok := errors.AsType[*redlock.HeldError](err)
				return ok && h.Type == test.kind && h.TTL < 0 && (test.kind == "string" || h.Token == "")
			})
			_, err := c.Adopt(ctx, "lock", "value")
			wantExactly(t, "Adopt", err, redlock.ErrNotHeld)
			eventually(t, "nothing of ours is left", func() bool { return p.value(3, "lock") == "" && p.value(4, "lock") == "" })
			for i, before := range data {
				if dump(i) != before || p.pttl(i, "lock") != -1 {
					t.Errorf("master %d: the data or its expiry was changed", i)
				}
			}
			p.remove("lock")
		})
	}
}
