package simmaster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/rig"
)

func timeReply(at time.Time) string {
	return fmt.Sprintf("[%d %d]", at.Unix(), at.Nanosecond()/1000)
}

func TestKeysExpireInVirtualTime(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		time.Sleep(123456 * time.Nanosecond) // not on a millisecond
		equal(t, "SET NX", do(t, c, "SET", "k", "token", "NX", "PX", "10000"), "OK")
		equal(t, "SET NX on a held key", do(t, c, "SET", "k", "other", "NX", "PX", "10000"), "nil")
		time.Sleep(10*time.Second - time.Millisecond)
		equal(t, "PTTL", do(t, c, "PTTL", "k"), 1)
		equal(t, "GET", do(t, c, "GET", "k"), "token")
		time.Sleep(time.Millisecond)
		equal(t, "PTTL in its last millisecond", do(t, c, "PTTL", "k"), 0)
		equal(t, "GET in its last millisecond", do(t, c, "GET", "k"), "token")
		time.Sleep(time.Millisecond)
		equal(t, "GET after its time", do(t, c, "GET", "k"), "nil")
		equal(t, "PTTL after its time", do(t, c, "PTTL", "k"), -2)
		equal(t, "SET NX on a free key", do(t, c, "SET", "k", "other", "NX", "PX", "1"), "OK")
		time.Sleep(2 * time.Millisecond)
		equal(t, "keys", m.Keys(), "[]")
	})
}

func TestKeysExpireInRealTime(t *testing.T) {
	m := listening(t)
	c := dialTCP(t, m)
	before := time.Now()
	do(t, c, "SET", "k", "v", "PX", "50")
	rig.Eventually(t, "the key expires", func() bool { return do(t, c, "EXISTS", "k") == "0" })
	if took := time.Since(before); took < 49*time.Millisecond {
		t.Fatalf("a key of 50ms expired after %v", took)
	}
}

func TestAClockSetForwardExpiresKeysForGood(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		do(t, c, "SET", "short", "v", "PX", "10000")
		do(t, c, "SET", "long", "v", "PX", "100000")
		do(t, c, "SET", "forever", "v")
		m.SetClockOffset(time.Minute)
		equal(t, "TIME", do(t, c, "TIME"), timeReply(time.Now().Add(time.Minute)))
		equal(t, "Time", time.Until(m.Time()), time.Minute)
		m.SetClockOffset(0)
		equal(t, "keys", m.Keys(), "[forever long]")
		equal(t, "what is left of the one that lives", do(t, c, "PTTL", "long"), 100000)
		equal(t, "TIME when set back", do(t, c, "TIME"), timeReply(time.Now()))
	})
}

func TestAClockSetBackwardLengthensWhatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		do(t, c, "SET", "k", "v", "PX", "10000")
		do(t, c, "HSET", "h", "f", "v")
		do(t, c, "PEXPIRE", "h", "5000")
		do(t, c, "SET", "forever", "v")
		time.Sleep(time.Second)
		m.SetClockOffset(-time.Hour)
		equal(t, "PTTL", do(t, c, "PTTL", "k"), 3609000)
		equal(t, "PTTL of the hash", do(t, c, "PTTL", "h"), 3604000)
		equal(t, "PTTL of the one without", do(t, c, "PTTL", "forever"), -1)
		equal(t, "uptime", field(t, do(t, c, "INFO"), "uptime_in_seconds"), -3599)
		time.Sleep(time.Hour + 4*time.Second + time.Millisecond)
		equal(t, "keys", m.Keys(), "[forever k]")
		time.Sleep(5 * time.Second)
		equal(t, "keys", m.Keys(), "[forever]")
		// Instants of expiry are the master's own.
		do(t, c, "SET", "k", "v", "PXAT", time.Now().Add(-time.Hour+3*time.Second).UnixMilli())
		equal(t, "PTTL of PXAT", do(t, c, "PTTL", "k"), 3000)
	})
}

func TestAStepOfTheHostsClockIsOneOfTheMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var step time.Duration
		m, err := New(Options{Now: func() time.Time { return time.Now().Add(step) }, ClockOffset: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		c := dial(t, m)
		equal(t, "TIME", do(t, c, "TIME"), timeReply(time.Now().Add(time.Hour)))
		do(t, c, "SET", "k", "v", "PX", "5000")
		time.Sleep(time.Second)
		step = -2 * time.Second
		equal(t, "PTTL", do(t, c, "PTTL", "k"), 6000)
		step = 3999 * time.Millisecond
		equal(t, "PTTL", do(t, c, "PTTL", "k"), 1)
		step = 4001 * time.Millisecond
		equal(t, "GET", do(t, c, "GET", "k"), "nil")
	})
}

func TestAScriptSeesTheTimeAtWhichItStarted(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	equal(t, "times", do(t, c, "EVAL", `
		local a = redis.call('TIME')
		for i = 1, 100000 do local x = i end
		local b = redis.call('TIME')
		return (a[1] == b[1] and a[2] == b[2]) and 1 or 0`, 0), 1)
}

func TestExpiriesAreReadAsRedisReadsThem(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		for _, bad := range []string{"+500", " 500", "500 ", "007", "-0", "1.5", "", "abc", "9223372036854775808"} {
			const noInteger = "ERR value is not an integer or out of range"
			fails(t, noInteger, c, "SET", "k", "v", "PX", bad)
			fails(t, noInteger, c, "PEXPIRE", "k", bad)
		}
		fails(t, "ERR invalid expire time in 'set' command", c, "SET", "k", "v", "PX", "0")
		const longest = "9223372036854775807"
		fails(t, "ERR invalid expire time in 'set' command", c, "SET", "k", "v", "PX", longest)
		do(t, c, "SET", "k", "v")
		fails(t, "ERR invalid expire time in 'pexpire' command", c, "PEXPIRE", "k", longest)
		equal(t, "keys", m.Keys(), "[k]")
		equal(t, "PEXPIRE far back", do(t, c, "PEXPIRE", "k", "-"+longest), 1)
		equal(t, "keys", m.Keys(), "[]")
		// Now is too late, though a key that has it for its end lives a little longer.
		time.Sleep(time.Millisecond)
		for _, command := range [][]any{
			{"PEXPIREAT", "k", time.Now().UnixMilli()},
			{"EVAL", "return redis.call('PEXPIREAT', KEYS[1], ARGV[1])", 1, "k", time.Now().UnixMilli()},
		} {
			do(t, c, "SET", "k", "v")
			equal(t, "PEXPIREAT now", do(t, c, command[0].(string), command[1:]...), 1)
			equal(t, "keys", m.Keys(), "[]")
		}
	})
}
