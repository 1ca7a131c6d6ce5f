package simmaster

import "testing"

// Clients use the first word of an error.
func TestAScriptsErrorHasTheCodeThatItHasInRedis(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	do(t, c, "RPUSH", "list", "a")
	for script, want := range map[string]string{
		"return redis.call('GET', KEYS[1])":   "WRONGTYPE Operation against a key holding the wrong kind of value on @user_script:1.",
		"\n\nlocal x = nil < 1":               "ERR user_script:3: attempt to compare nil with number on @user_script:3.",
		"return redis.error_reply('OOPS no')": "OOPS no",
		"return redis.pcall('GET', KEYS[1])":  "WRONGTYPE Operation against a key holding the wrong kind of value",
		"local _, e = pcall(function() return redis.call('GET', KEYS[1]) .. '' end) return type(e) == 'string' and redis.error_reply(e) or e": "WRONGTYPE Operation against a key holding the wrong kind of value",
	} {
		if _, err := c.Do("EVAL", script, 1, "list"); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", script, err, want)
		}
	}
}

// miniredis alone accepts these numbers. Random comparisons with Redis seldom use one.
func TestNumbersAreReadAsInRedis(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	for _, bad := range []string{"nan", "-NaN"} {
		fails(t, "ERR value is not a valid float", c, "ZADD", "z", "1", "a", bad, "b")
		fails(t, "ERR min or max is not a float", c, "ZCOUNT", "z", "("+bad, "+inf")
	}
	for _, bad := range []string{"+500", "1.5", "9223372036854775808"} {
		fails(t, "ERR value is not an integer", c, "ZRANGEBYSCORE", "z", "-inf", "+inf", "LIMIT", "0", bad)
	}
	equal(t, "keys", m.Keys(), "[]")
	equal(t, "a member of that name", do(t, c, "ZADD", "z", "CH", "1", "nan"), 1)
	do(t, c, "ZADD", "z", "2", "b", "3", "c")
	equal(t, "within the limit", do(t, c, "ZRANGEBYSCORE", "z", "-inf", "+inf", "LIMIT", "1", "-1"), "[b c]")
	do(t, c, "ZADD", "zero", "-0", "-0", "-0.5", "less")
	do(t, c, "EVAL", "return redis.call('ZADD', KEYS[1], '-0', 'by a script')", 1, "zero")
	equal(t, "minus zero", do(t, c, "ZRANGE", "zero", 0, -1, "WITHSCORES"), "[less -0.5 -0 0 by a script 0]")
}

func TestAScriptReadsIntegersOfMoreThan64Bits(t *testing.T) {
	c := dial(t, start(t))
	for text, want := range map[string]string{
		"9223372036854775807": "9223372036854775808", "9223372036854775808": "9223372036854775808", "-99999999999999999999": "-100000000000000000000",
		"12": "12", "1e3": "1000", "0x10": "16", "": "nil", "x": "nil", "1 2": "nil",
	} {
		equal(t, text, do(t, c, "EVAL", "local n = tonumber(ARGV[1]) return n and string.format('%.0f', n) or 'nil'", 0, text), want)
	}
	equal(t, "a base", do(t, c, "EVAL", "return tonumber('ff', 16)", 0), 255)
	equal(t, "a number", do(t, c, "EVAL", "return tonumber(7)", 0), 7)
}
