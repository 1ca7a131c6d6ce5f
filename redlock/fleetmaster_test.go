package redlock_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// simulated is a master of the simulation.
type simulated struct{ m *simmaster.Master }

func (s simulated) kill() error             { s.m.Kill(); return nil }
func (s simulated) restart(keep bool) error { return s.m.Restart(keep) }
func (s simulated) freeze() error           { s.m.Freeze(); return nil }
func (s simulated) thaw() error             { s.m.Thaw(); return nil }

// process is a redis-server.
type process struct{ s *redistest.Server }

func (p process) kill() error             { return p.s.Kill() }
func (p process) restart(keep bool) error { return p.s.Restart(context.Background(), keep) }
func (p process) freeze() error           { return p.s.Freeze() }
func (p process) thaw() error             { return p.s.Thaw() }

var calls = regexp.MustCompile(`(?m)^cmdstat_(?:set|evalsha):calls=(\d+)`)

// executed is how many SETs and scripts a redis-server has executed.
func executed(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	info, err := redis.String(s.Do("INFO", "commandstats"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range calls.FindAllStringSubmatch(info, -1) {
		times, _ := strconv.Atoi(found[1])
		n += times
	}
	return n
}
