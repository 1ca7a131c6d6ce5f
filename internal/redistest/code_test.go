package redistest

import (
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestTheCodeOfAnErrorInAScriptIsThatOfItsCommand(t *testing.T) {
	s := start(t, Config{})
	do(t, s, "HSET", "hash", "field", "value")
	do(t, s, "CONFIG", "SET", "maxmemory", 1)
	for _, c := range []struct{ script, want string }{
		{"return redis.call('GET', 'hash')", "WRONGTYPE"},
		{"return redis.pcall('GET', 'hash')", "WRONGTYPE"},
		{"\n\nreturn redis.call('SET', 'key', 'value')", "OOM"},
		{"return redis.error_reply('FENCE is no number')", "FENCE"},
		{"return redis.call('HSET', 'hash')", "ERR"},
		{"return 1 + nil", "ERR"},
		{"error('boom')", "ERR"},
		{"no Lua", "ERR"},
	} {
		_, err := s.Do("EVAL", c.script, 0)
		var reply redis.Error
		if !errors.As(err, &reply) || Code(reply) != c.want {
			t.Errorf("%s: %v: code %s, want %s", c.script, err, Code(reply), c.want)
		}
	}
}
