package redistest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// mustShow fails unless the server's clock is ahead of ours by exactly that.
func mustShow(t *testing.T, s *Server, ahead time.Duration) {
	t.Helper()
	before := time.Now().Add(-time.Microsecond) // TIME cuts off what is below
	parts, err := redis.Int64s(s.Do("TIME"))
	after := time.Now()
	if err != nil {
		t.Fatal(err)
	}
	shown := time.Unix(parts[0], parts[1]*1000).Add(-ahead)
	if shown.Before(before) || shown.After(after) {
		t.Errorf("the server's clock, less %v, shows %v; want an instant in [%v, %v]", ahead, shown, before, after)
	}
}

func setClock(t *testing.T, s *Server, offset time.Duration) {
	t.Helper()
	if err := s.SetClock(offset); err != nil {
		t.Fatal(err)
	}
}

func TestAMovedClockStaysOverARestart(t *testing.T) {
	s := start(t, Config{MovableClock: true, AppendOnly: AppendAlways})
	do(t, s, "SET", "key", "value", "PX", 30*60*1000)
	setClock(t, s, -time.Hour)
	restart(t, s)
	mustShow(t, s, -time.Hour)
	if got := get(t, s, "key"); got != "value" {
		t.Errorf("it holds %q", got)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	setClock(t, s, time.Hour) // while it is down
	restart(t, s)
	mustShow(t, s, time.Hour)
	if got := get(t, s, "key"); got != "" {
		t.Errorf("it was loaded an hour after its time and holds %q", got)
	}
}

func TestAClockIsMovedOnlyWhereItCanBe(t *testing.T) {
	s := start(t, Config{})
	if err := s.SetClock(time.Minute); err == nil || !strings.Contains(err.Error(), "Config.MovableClock") {
		t.Errorf("without a movable clock: %v", err)
	}
	mustShow(t, s, 0)

	s = start(t, Config{MovableClock: true})
	for _, offset := range []time.Duration{maxOffset + 1, -maxOffset - 1} {
		if err := s.SetClock(offset); err == nil || !strings.Contains(err.Error(), offset.String()) {
			t.Errorf("by %v: %v", offset, err)
		}
	}
	mustShow(t, s, 0)
	if err := s.clock.loadedBy(s.PID() + 1); err == nil || !strings.Contains(err.Error(), "its clock cannot be moved") {
		t.Errorf("of a process that has not loaded the shim: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetClock(0); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if exists(s.files.shim()) || exists(s.files.clock()) {
		t.Error("files were left behind")
	}
}

func TestWithoutACompilerATestIsSkipped(t *testing.T) {
	needRedis(t)
	t.Setenv("CC", "/no/such/compiler")
	before := compiledShim
	compiledShim = compileShim
	defer func() { compiledShim = before }()
	var r recorder
	if c := Start(&r, 1, Config{MovableClock: true}); c != nil {
		t.Errorf("Start returned %v", c)
	}
	if len(r.skips) != 1 || !strings.Contains(r.skips[0], "clock can be moved") || len(r.fatal) != 0 {
		t.Errorf("skipped %q, failed %q", r.skips, r.fatal)
	}
	if _, err := Launch(t.Context(), Config{MovableClock: true}); err == nil {
		t.Error("it was launched")
	}
}
