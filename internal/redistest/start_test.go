package redistest

import (
	"fmt"
	"strings"
	"testing"
)

var _ TB = testing.TB(nil)

// recorder is a test that notes what becomes of it.
type recorder struct {
	failed                     bool
	logs, errors, fatal, skips []string
	cleanups                   []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Logf(f string, a ...any) {
	r.logs = append(r.logs, fmt.Sprintf(f, a...))
}
func (r *recorder) Errorf(f string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, a...))
}
func (r *recorder) Fatalf(f string, a ...any) {
	r.fatal = append(r.fatal, fmt.Sprintf(f, a...))
}
func (r *recorder) Skipf(f string, a ...any) {
	r.skips = append(r.skips, fmt.Sprintf(f, a...))
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
		if len(said) != 1 || len(other) != 0 || !strings.Contains(said[0], "/no/such/redis-server") {
			t.Errorf("%s=%s: skipped %q, failed %q", RequireVariable, value, r.skips, r.fatal)
		}
	}
}

func TestStartEndsTheServersWithTheTest(t *testing.T) {
	needRedis(t)
	for _, failed := range []bool{false, true} {
		r := recorder{failed: failed}
		c := Start(&r, 2, Config{})
		if c == nil {
			t.Fatalf("not started: %q", r.fatal)
		}
		pids := []int{c.Masters[0].PID(), c.Masters[1].PID()}
		for _, cleanup := range r.cleanups {
			cleanup()
		}
		for _, pid := range pids {
			if alive(pid) {
				t.Errorf("process %d was left behind", pid)
			}
		}
		if len(r.errors) > 0 {
			t.Errorf("errors: %q", r.errors)
		}
		if logs := strings.Count(strings.Join(r.logs, ""), "Ready to accept connections"); failed != (logs == 2) {
			t.Errorf("of a test that failed: %v, %d logs are shown", failed, logs)
		}
	}
}

func TestAServerThatDoesNotStartFailsTheTest(t *testing.T) {
	needRedis(t)
	var r recorder
	if c := Start(&r, 1, Config{Args: []string{"--no-such-directive", "1"}}); c != nil {
		t.Errorf("Start returned %v", c)
	}
	if len(r.fatal) != 1 || !strings.Contains(r.fatal[0], "no-such-directive") || len(r.skips) != 0 {
		t.Errorf("failed %q, skipped %q", r.fatal, r.skips)
	}
}
