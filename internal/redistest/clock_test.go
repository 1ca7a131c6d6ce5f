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

func TestAServersClockCanBeMovedWhileItRuns(t *testing.T) {
	s := start(t, Config{MovableClock: true})
	pid, id := s.PID(), runID(t, s)
	mustShow(t, s, 0)
	for _, offset := range []time.Duration{
		time.Minute, -time.Hour, 0, 1500 * time.Millisecond, -1500 * time.Millisecond, 999_999_999, -1, 240 * time.Hour, 0,
	} {
		setClock(t, s, offset)
		mustShow(t, s, offset)
	}
	if s.PID() != pid || runID(t, s) != id {
		t.Error("it was restarted for that")
	}
}

func TestKeysExpireByTheMovedClock(t *testing.T) {
	s := start(t, Config{MovableClock: true})
	pttl := func() time.Duration {
		t.Helper()
		ms, err := redis.Int64(s.Do("PTTL", "key"))
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(ms) * time.Millisecond
	}
	do(t, s, "SET", "key", "value", "PX", 30*60*1000)
	if ttl := pttl(); ttl > 30*time.Minute || ttl < 20*time.Minute {
		t.Fatalf("it expires in %v", ttl)
	}
	setClock(t, s, -time.Hour)
	if ttl := pttl(); ttl > 90*time.Minute || ttl < 80*time.Minute {
		t.Errorf("an hour earlier it expires in %v", ttl)
	}
	setClock(t, s, 20*time.Minute)
	if ttl := pttl(); ttl > 10*time.Minute || ttl <= 0 {
		t.Errorf("20 minutes later it expires in %v", ttl)
	}
	setClock(t, s, time.Hour)
	if got := get(t, s, "key"); got != "" {
		t.Errorf("an hour later it holds %q", got)
	}
	setClock(t, s, 0)
	if got := get(t, s, "key"); got != "" {
		t.Errorf("the clock is right again, and what has expired holds %q", got)
	}
}

func TestAMovedClockStaysOverARestart(t *testing.T) {
	s := start(t, Config{MovableClock: true, AppendOnly: AppendAlways})
	do(t, s, "SET", "key", "value", "PX", 30*60*1000)
	setClock(t, s, -time.Hour)
	if err := s.Restart(background(t), true); err != nil {
		t.Fatal(err)
	}
	mustShow(t, s, -time.Hour)
	if got := get(t, s, "key"); got != "value" {
		t.Errorf("it holds %q", got)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	setClock(t, s, time.Hour) // while it is down
	if err := s.Restart(background(t), true); err != nil {
		t.Fatal(err)
	}
	mustShow(t, s, time.Hour)
	if got := get(t, s, "key"); got != "" {
		t.Errorf("it was loaded an hour after its time and holds %q", got)
	}
}

func TestEachServerHasAClockOfItsOwn(t *testing.T) {
	c := Start(t, 3, Config{MovableClock: true})
	setClock(t, c.Masters[1], time.Minute)
	for i, ahead := range []time.Duration{0, time.Minute, 0} {
		mustShow(t, c.Masters[i], ahead)
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

func TestAServerThatDoesNotLoadTheShimDoesNotStart(t *testing.T) {
	needRedis(t)
	if err := ClockAvailable(); err != nil {
		t.Skipf("needs a redis-server whose clock can be moved: %v", err)
	}
	dir := temporary(t)
	_, err := Launch(background(t), Config{MovableClock: true, Env: []string{"LD_PRELOAD="}})
	if err == nil || !strings.Contains(err.Error(), "its clock cannot be moved") {
		t.Errorf("got %v", err)
	}
	mustBeEmpty(t, dir)
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

func TestAServersClockCanStandStill(t *testing.T) {
	s := start(t, Config{MovableClock: true})
	for _, at := range []time.Time{
		time.Date(2026, 7, 1, 12, 0, 0, 123_456_000, time.UTC),
		time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if err := s.HoldClock(at); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			parts, err := redis.Int64s(s.Do("TIME"))
			if err != nil {
				t.Fatal(err)
			}
			if shown := time.Unix(parts[0], parts[1]*1000); !shown.Equal(at) {
				t.Errorf("the server's clock shows %v, want %v", shown, at)
			}
			time.Sleep(2 * time.Millisecond) // real, for the clock to run if it does
		}
	}
	setClock(t, s, time.Minute)
	mustShow(t, s, time.Minute)
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if err := s.HoldClock(at); err == nil {
			t.Errorf("the clock stands still at %v: no error", at)
		}
	}
}
