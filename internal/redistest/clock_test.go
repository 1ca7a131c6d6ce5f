package redistest

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// mustShow fails unless the server's clock is ahead of ours by exactly this.
func mustShow(t *testing.T, s *Server, ahead time.Duration) {
	t.Helper()
	before := time.Now().Add(-time.Microsecond) // TIME cuts off nanoseconds
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
