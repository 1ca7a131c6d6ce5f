package script

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A master's clock that is set back leaves what was written before in its future.

// add puts a member into a sorted set, with a score so far from now in ms or µs.
func (m *lua) add(set, member string, unit, from time.Duration, sign int64) {
	m.t.Helper()
	at := (time.Duration(m.now())*time.Microsecond + from) / unit
	m.do("ZADD", set, sign*int64(at), member)
}

// left is how far from now a member's score is, and whether it is there.
func (m *lua) left(set, member string, unit time.Duration) (time.Duration, bool) {
	m.t.Helper()
	score, err := redis.String(m.conn.Do("ZSCORE", set, member))
	if err != nil {
		return 0, false
	}
	at, err := strconv.ParseFloat(score, 64)
	if err != nil {
		m.t.Fatal(err)
	}
	return time.Duration(math.Abs(at))*unit - time.Duration(m.now())*time.Microsecond, true
}

const lookTime = 2 * time.Second // for what a test does between two looks at the clock

func about(got, want time.Duration) bool { return got <= want && got > want-lookTime }

// A client that was called before the clock was set back, and died, keeps nobody out.
func TestAMarkFurtherAheadThanItsGraceDoesNotCount(t *testing.T) {
	const a, queueOfA = "a", "redquorum:q:1:{a}"
	pair := []string{a, queueOfA}
	for name, looks := range map[string]func(m *lua) (mine bool){
		"wait": func(m *lua) bool { return m.eval(Queue, pair, "wait", "me", "").([]any)[0] == int64(1) },
		"take": func(m *lua) bool {
			return fmt.Sprint(m.eval(Queue, pair, "take", "me", "", "token", 1000, "1")) == "OK"
		},
		"leave": func(m *lua) bool {
			m.do("ZADD", queueOfA, 1, "me")
			return m.eval(Queue, pair, "leave", "other") == int64(0) && m.do("ZCARD", queueOfA) == int64(0) // nobody listens
		},
		"release": func(m *lua) bool {
			m.do("ZADD", queueOfA, 1, "me")
			m.do("SET", a, "token")
			return m.eval(Queue, pair, "release", "me", "token") == int64(21)
		},
		"releases of several": func(m *lua) bool {
			m.do("ZADD", queueOfA, 1, "me")
			m.do("SET", a, "token")
			return fmt.Sprint(m.eval(ReleaseBatch, pair, "token", "me")) == "[21]"
		},
		"release of a set": func(m *lua) bool {
			m.do("ZADD", queueOfA, 1, "me")
			m.do("SET", a, "token")
			return fmt.Sprint(m.eval(ReleaseSet, []string{a}, "token", "me")) == "[1 1 2]"
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t).lua
			for _, ahead := range []time.Duration{time.Hour, 2 * time.Second} {
				m.do("FLUSHALL")
				m.add(queueOfA, "dead", time.Microsecond, ahead, -1)
				if !looks(m) {
					t.Errorf("a mark %v ahead holds others off", ahead)
				}
			}
		})
	}
}

func TestAMarkCountsForAsLongAsItsGrace(t *testing.T) {
	m := newMaster(t)
	const start = int64(17e14)
	for _, test := range []struct {
		mark int64 // µs from now
		mine bool
	}{{0, true}, {1, false}, {250_000, false}, {250_001, true}} {
		m.FlushAll()
		m.at(start)
		_, _ = m.ZAdd(queueOf, -float64(start+test.mark), "called")
		if got := m.state(m.queue("wait", "me", "")).ours == 1; got != test.mine {
			t.Errorf("a mark until %d µs from now: my turn is %v, want %v", test.mark, got, test.mine)
		}
	}
}

// Otherwise clients that come after the step would be ahead of all that wait already.
func TestAPlaceInTheFutureCountsAsNow(t *testing.T) {
	m := newMaster(t).lua
	m.do("SET", "a", "other")
	m.add("queue", "me", time.Microsecond, time.Hour, 1)
	ahead := fmt.Sprint(m.now() + time.Hour.Microseconds())
	for _, score := range []string{"", ahead} {
		before := m.now()
		m.eval(Queue, []string{"a", "queue"}, "wait", "me", score)
		if got, _ := m.left("queue", "me", time.Microsecond); got > 0 || got < -lookTime {
			t.Errorf("the place is %v from now", got)
		}
		m.do("ZREM", "queue", "me")
		reply := m.eval(Queue, []string{"a", "queue"}, "wait", "me", score).([]any)
		if at, err := redis.Int64(reply[1], nil); err != nil || at < before || at > m.now() {
			t.Errorf("placed at %d (%v), %d µs after the look before", at, err, at-before)
		}
	}
}

func TestAnIntentFurtherAheadThanItStandsDoesNotCount(t *testing.T) {
	m := newMaster(t).lua
	enter := func() any { return m.eval(ReaderAcquire, []string{"a", "intents"}, "r", 1000, longest) }
	m.add("intents", "dead", time.Millisecond, time.Hour, 1)
	if got := enter(); got != int64(1) {
		t.Errorf("a reader got %v", got)
	}
	m.eval(WriterIntent, []string{"intents"}, "alive", 2000)
	if got := enter(); got != int64(4) {
		t.Errorf("beside a writer that waits a reader got %v", got)
	}
	if got := m.do("ZCARD", "intents"); got != int64(1) {
		t.Errorf("%v intents, want the one", got)
	}
	if got := m.do("PTTL", "intents").(int64); got > 2000 {
		t.Errorf("they stand for %d ms", got)
	}
}

// A reader's expiry counts for as long as the reader can be alive: every script that writes the set
// cuts it to that, and never shortens it by more.
func TestAReaderFurtherAheadThanTheLongestTTLIsCutToThat(t *testing.T) {
	const most = time.Minute
	plain, guarded := []string{"a", "intents"}, modus{fenced: true, strict: true, third: "1"}
	for name, look := range map[string]func(m *lua){
		"acquire": func(m *lua) { m.eval(ReaderAcquire, plain, "me", 1000, most.Milliseconds()) },
		"acquire, guarded": func(m *lua) {
			m.want("acquire", m.guarded(GuardedReaderAcquire, guarded, "me", time.Second, guarded.keys(one, "intents"), most.Milliseconds()), 1, 0)
		},
		"a renewal": func(m *lua) { m.eval(ReaderExtend, plain[:1], "alive", 1000, "1", most.Milliseconds()) },
		"a renewal, guarded": func(m *lua) {
			m.want("renewal", m.guarded(GuardedReaderExtend, guarded, "alive", time.Second, guarded.keys(one), most.Milliseconds()), 1, 0)
		},
		"another's renewal": func(m *lua) { m.eval(ReaderExtend, plain[:1], "me", 1000, "1", most.Milliseconds()) },
		"release":           func(m *lua) { m.eval(ReaderRelease, plain[:1], "short", most.Milliseconds()) },
		"release, guarded": func(m *lua) {
			m.eval(GuardedReaderRelease, []string{"a", leaseOf + "a"}, "short", most.Milliseconds())
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t).lua
			m.add("a", "dead", time.Millisecond, time.Hour, 1)
			m.add("a", "alive", time.Millisecond, most+5*time.Second, 1)
			m.add("a", "within", time.Millisecond, most-20*time.Second, 1)
			m.add("a", "short", time.Millisecond, time.Second, 1)
			until, _ := redis.Int64(m.do("ZSCORE", "a", "dead"), nil)
			m.do("PEXPIREAT", "a", until)
			look(m)
			for member, want := range map[string]time.Duration{"dead": most, "alive": most, "within": most - 20*time.Second} {
				if got, there := m.left("a", member, time.Millisecond); !there || !about(got, want) {
					t.Errorf("%s: there %v, for %v: want %v", member, there, got, want)
				}
			}
			ms := m.do("PTTL", "a").(int64)
			if got := time.Duration(ms) * time.Millisecond; !about(got, most) {
				t.Errorf("the key expires in %v: want %v", got, most)
			}
			// As before, no writer gets in.
			if got := m.do("SET", "a", "writer", "NX"); got != nil {
				t.Errorf("a writer got %v", got)
			}
		})
	}
}

// Whatever is given as the longest TTL, the scripts end. A TTL that is no number is an
// error, and nobody has entered.
func TestAReadersScriptsEndWhateverTheLongestTTL(t *testing.T) {
	m := newMaster(t).lua
	for _, most := range []any{0, -1, -5000, "0.5", "1e300", "-1e300", int64(math.MaxInt64)} {
		m.do("DEL", "a")
		_, _ = m.conn.Do("EVAL", ReaderAcquire.EvalArgs(ReaderAcquire.Args(nil, []string{"a", "intents"}, ours, 1000, most))...)
	}
	for _, bad := range []any{"", "soon", nil} {
		for _, args := range [][]any{{ours, 1000, bad}, {ours, bad, longest}} {
			m.do("DEL", "a")
			if reply, err := m.conn.Do("EVAL", ReaderAcquire.EvalArgs(ReaderAcquire.Args(nil, []string{"a", "intents"}, args...))...); err == nil {
				t.Errorf("%q: %v", args, reply)
			}
			if m.do("EXISTS", "a") != int64(0) {
				t.Errorf("%q: a reader entered", args)
			}
		}
	}
}
