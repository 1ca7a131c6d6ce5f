package simmaster

import (
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

func timeReply(at time.Time) string {
	return fmt.Sprintf("[%d %d]", at.Unix(), at.Nanosecond()/1000)
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

// A key that got this expiry earlier lives until the end of the millisecond.
func TestAKeyThatShallExpireNowIsGone(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
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
