// Package refusal makes masters refuse to write.
package refusal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A State is one in which a master refuses to write; the refusal has the word Word. Start and
// Finish return when the master is in the state, and out of it.
type State struct {
	Name, Word    string
	Start, Finish func(m *redistest.Server) error
}

// States lists all states.
var States = []State{
	{"out of memory", "OOM", set("maxmemory", "1"), set("maxmemory", "0")},
	// There is no such master: nothing is synchronized.
	{"a replica", "READONLY", command("REPLICAOF", "127.0.0.1", "1"), command("REPLICAOF", "NO", "ONE")},
	{"too few replicas", "NOREPLICAS", set("min-replicas-to-write", "1"), set("min-replicas-to-write", "0")},
	{"snapshots fail", "MISCONF", failSnapshots, set("save", "")},
	{"busy with a script", "BUSY", keepBusy, endScript},
}

func command(name string, args ...any) func(m *redistest.Server) error {
	return func(m *redistest.Server) error { _, err := m.Do(name, args...); return err }
}

func set(directive, value string) func(m *redistest.Server) error {
	return command("CONFIG", "SET", directive, value)
}

func failSnapshots(m *redistest.Server) error {
	err := os.MkdirAll(filepath.Join(m.Dir(), "dump.rdb", "in the way"), 0o700)
	if err := errors.Join(err, set("save", "3600 1")(m), command("BGSAVE")(m)); err != nil {
		return err
	}
	return await("the snapshot has failed", func() bool {
		info, err := redis.String(m.Do("INFO", "persistence"))
		return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
	})
}

// keepBusy starts a script that ends only when it is killed, and does not wait for it.
func keepBusy(m *redistest.Server) error {
	conn, err := m.Dial(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	err = errors.Join(set("lua-time-limit", "1")(m), conn.Send("EVAL", "while true do end", 0), conn.Flush())
	if err != nil {
		return err
	}
	return await("the master is busy", func() bool {
		_, err := m.Do("GET", "any")
		return err != nil && strings.Contains(err.Error(), "BUSY")
	})
}

func endScript(m *redistest.Server) error {
	if _, err := m.Do("SCRIPT", "KILL"); err != nil {
		return err
	}
	return await("the script has ended", func() bool { return command("PING")(m) == nil })
}

func await(what string, condition func() bool) error {
	const bound = 20 * time.Second
	for deadline := time.Now().Add(bound); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s", bound, what)
		}
	}
	return nil
}
