package guard

import (
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

func TestAnEarlyAcquisitionTakesTheLockOnlyUnderTheClientsOwnMarker(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		const key = "early-acquisition"
		c := config(Standard)
		early := c.Early(3)
		declare := func() {
			target := m.now()
			target.DB = 3
			m.do("DEL", Key)
			m.declare(c, target)
		}
		ask := func() any { return m.do("EVAL", early.Args(key, "mine", 60_000)...) }
		alone := func(what string) {
			t.Helper()
			if n := m.do("EXISTS", key); n != int64(0) {
				t.Errorf("%s: the key is set", what)
			}
		}
		m.do("DEL", Key, key)
		if got := ask(); got != int64(-1) {
			t.Errorf("without a marker it answers %v", got)
		}
		alone("no marker")
		for field, value := range map[string]string{"v": "1", "maxttl": "1", "n": "99", "level": "strict", "db": "15", "to": "another fleet"} {
			declare()
			m.do("HSET", Key, field, value)
			if got := ask(); got != int64(-1) {
				t.Errorf("with %s %q it answers %v", field, value, got)
			}
			alone(field)
			m.do("HDEL", Key, field)
			if got := ask(); field != "to" && got != int64(-1) {
				t.Errorf("without %s it answers %v", field, got)
			}
			m.do("DEL", key)
		}
		declare()
		if got := ask(); got != int64(1) {
			t.Fatalf("under its own marker it answers %v", got)
		}
		ms, _ := m.do("PTTL", key).(int64)
		if held, _ := m.do("GET", key).([]byte); string(held) != "mine" || ms <= 0 || ms > 60_000 {
			t.Errorf("the key holds %q for %d ms", held, ms)
		}
		if got := ask(); got != int64(0) {
			t.Errorf("where it is held it answers %v", got)
		}
		m.do("DEL", key)
	})
}

// The lock goes out before anybody knows what the user may do.
func TestAnEarlyAcquisitionTakesNothingThatTheMasterRefuses(t *testing.T) {
	redistest.Need(t, redistest.ACL)
	conn, err := redistest.Start(t, 1, redistest.Config{}).Masters[0].Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := ready(t, conn)
	c := config(Standard)
	m.declare(c, m.now())
	refused := func(what string) {
		t.Helper()
		if reply, err := m.conn.Do("EVAL", c.Early(0).Args("key", "mine", 60_000)...); err == nil || m.do("EXISTS", "key") != int64(0) {
			t.Errorf("%s: it answers %v, %v", what, reply, err)
		}
	}
	for _, missing := range []string{"-get", "-del"} {
		m.do("ACL", "SETUSER", "default", "+get", "+del", missing)
		refused(missing)
	}
	m.do("ACL", "SETUSER", "default", "+get", "+del")
	m.do("CONFIG", "SET", "maxmemory", 1)
	refused("without memory")
}
