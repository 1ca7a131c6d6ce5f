package script

import (
	"maps"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	writers = "redquorum:intent:1:" + key
	longest = 24 * 60 * 60 * 1000 // the longest TTL of all clients, in ms
)

// A clockMaster is a master whose clock the test moves.
type clockMaster struct {
	*master
	now time.Time
}

func newClockMaster(t *testing.T) *clockMaster {
	t.Helper()
	m := &clockMaster{newMaster(t), time.UnixMilli(1_790_000_000_123)}
	m.SetTime(m.now)
	return m
}

func (m *clockMaster) advance(d time.Duration) {
	m.now = m.now.Add(d)
	m.SetTime(m.now)
	m.FastForward(d)
}

func (m *clockMaster) enter(token string, ttl time.Duration) any {
	m.t.Helper()
	return m.eval(ReaderAcquire, []string{key, writers}, token, ttl.Milliseconds(), longest)
}

// reads checks which readers are in, each for how long, and that the key expires with the last;
// none: there is no key.
func (m *clockMaster) reads(want map[string]time.Duration) {
	m.t.Helper()
	m.inSet(key, want)
}

func (m *clockMaster) inSet(name string, want map[string]time.Duration) {
	m.t.Helper()
	if len(want) == 0 {
		if m.Exists(name) {
			m.t.Errorf("there is a key:\n%s", m.Dump())
		}
		return
	}
	pairs, err := redis.Strings(m.conn.Do("ZRANGE", name, 0, -1, "WITHSCORES"))
	if err != nil {
		m.t.Error(err)
		return
	}
	got, last := make(map[string]time.Duration), time.Duration(0)
	for i := 0; i < len(pairs); i += 2 {
		ms, err := strconv.ParseFloat(pairs[i+1], 64)
		if err != nil {
			m.t.Fatal(err)
		}
		got[pairs[i]] = time.UnixMilli(int64(ms)).Sub(m.now)
		last = max(last, got[pairs[i]])
	}
	if !maps.Equal(got, want) {
		m.t.Errorf("in the set are %v, want %v", got, want)
	}
	if ttl := m.TTL(name); ttl != last {
		m.t.Errorf("the key expires in %v, want %v, with the last of them", ttl, last)
	}
}

type ttls = map[string]time.Duration

func TestReadersEnterOneBesideTheOther(t *testing.T) {
	m := newClockMaster(t)
	m.want("the first", m.enter(ours, 10*time.Second), 1)
	m.reads(ttls{ours: 10 * time.Second})
	m.want("a shorter one", m.enter(other, 2*time.Second), 1)
	m.reads(ttls{ours: 10 * time.Second, other: 2 * time.Second})
	m.want("a longer one", m.enter("third", time.Hour), 1)
	m.reads(ttls{ours: 10 * time.Second, other: 2 * time.Second, "third": time.Hour})
	m.advance(2 * time.Second) // alive in its last millisecond, as a key is
	m.want("another", m.enter("fourth", time.Second), 1)
	m.reads(ttls{ours: 8 * time.Second, other: 0, "third": time.Hour - 2*time.Second, "fourth": time.Second})
	m.advance(time.Millisecond) // the one that expired goes when a script looks
	m.want("another", m.enter("fifth", time.Second), 1)
	m.reads(ttls{
		ours: 8*time.Second - time.Millisecond, "third": time.Hour - 2*time.Second - time.Millisecond,
		"fourth": 999 * time.Millisecond, "fifth": time.Second,
	})
	m.advance(2 * time.Hour)
	m.reads(nil)
	m.want("after all have expired", m.enter(ours, time.Second), 1)
	m.reads(ttls{ours: time.Second})
}

func TestAReaderStaysOutWhileAWriterWaits(t *testing.T) {
	m := newClockMaster(t)
	m.want("the first", m.enter(ours, time.Minute), 1)
	intent := func(mark string, d time.Duration) any {
		return m.eval(WriterIntent, []string{writers}, mark, d.Milliseconds())
	}
	m.want("intent", intent("w1", 2*time.Second), 1)
	m.want("a second writer's", intent("w2", time.Second), 1)
	m.inSet(writers, ttls{"w1": 2 * time.Second, "w2": time.Second})
	m.want("acquire", m.enter(other, time.Minute), 4)
	m.reads(ttls{ours: time.Minute})
	m.want("a renewal", m.eval(ReaderExtend, []string{key}, ours, 90_000, "1", longest), 1)
	m.want("a reader that is entered again", m.eval(ReaderExtend, []string{key}, "again", 90_000, "1", longest), 2)
	m.advance(time.Second + time.Millisecond)
	m.want("intent", intent("w2", 3*time.Second), 1)
	m.inSet(writers, ttls{"w1": 999 * time.Millisecond, "w2": 3 * time.Second})
	m.do("ZREM", writers, "w2")
	m.want("acquire", m.enter(other, time.Minute), 4)
	m.advance(999 * time.Millisecond)
	m.want("acquire in the intent's last millisecond", m.enter(other, time.Minute), 4)
	m.advance(time.Millisecond)
	m.want("acquire when it has expired", m.enter(other, time.Minute), 1)
	m.want("intent", intent("w3", time.Second), 1)
	m.do("ZREM", writers, "w3")
	m.inSet(writers, nil)
}

// Another key at the name of the intents does not matter, and is not touched.
func TestAnIntentLeavesWhatIsNotItsOwnAlone(t *testing.T) {
	m := newClockMaster(t)
	m.do("SET", writers, "?")
	m.unchanged(func() { m.want("intent", m.eval(WriterIntent, []string{writers}, "w", 1000), 0) })
	m.want("acquire", m.enter(ours, time.Second), 1)
}

func TestAReaderIsProlongedAndNeverShortened(t *testing.T) {
	m := newClockMaster(t)
	m.enter(ours, 10*time.Second)
	m.enter(other, 20*time.Second)
	extend := func(ttl time.Duration) any {
		return m.eval(ReaderExtend, []string{key}, ours, ttl.Milliseconds(), "0", longest)
	}
	m.want("extend", extend(5*time.Second), 1)
	m.reads(ttls{ours: 10 * time.Second, other: 20 * time.Second})
	m.want("extend", extend(25*time.Second), 1)
	m.reads(ttls{ours: 25 * time.Second, other: 20 * time.Second})
	m.advance(21 * time.Second)
	m.want("extend", extend(time.Second), 1)
	m.reads(ttls{ours: 4 * time.Second}) // and the other, which had expired, is gone
}

func TestAReaderThatIsMissingIsEnteredAgainOnlyIfAsked(t *testing.T) {
	for _, again := range []string{"1", "11"} {
		for name, prepare := range map[string]func(m *clockMaster) ttls{
			"no key":       func(*clockMaster) ttls { return ttls{} },
			"another read": func(m *clockMaster) ttls { m.enter(other, time.Minute); return ttls{other: time.Minute} },
			"expired": func(m *clockMaster) ttls {
				m.enter(ours, time.Second)
				m.enter(other, 61*time.Second)
				m.advance(time.Second + time.Millisecond)
				return ttls{ours: -time.Millisecond, other: time.Minute - time.Millisecond}
			},
		} {
			t.Run(name+", "+strconv.Quote(again), func(t *testing.T) {
				m := newClockMaster(t)
				has, want := prepare(m), int64(3)
				if again == "1" {
					has[ours], want = 10*time.Second, 2
				}
				m.want("extend", m.eval(ReaderExtend, []string{key}, ours, 10_000, again, longest), want)
				m.reads(has)
				if again == "1" { // it counts from the next extension on (S6)
					m.want("extend", m.eval(ReaderExtend, []string{key}, ours, 10_000, again, longest), 1)
				}
			})
		}
	}
}

func TestAReadersReleaseTakesItOutAndNobodyElse(t *testing.T) {
	m := newClockMaster(t)
	release := func(token string) any { return m.eval(ReaderRelease, []string{key}, token, longest) }
	m.want("no key", release(ours), 3)
	m.enter(ours, time.Minute)
	m.enter(other, 10*time.Second)
	m.enter("third", 20*time.Second)
	m.want("not in", release("nobody"), 3)
	m.want("the last to expire", release(ours), 1)
	m.reads(ttls{other: 10 * time.Second, "third": 20 * time.Second}) // nobody waits a minute now
	m.want("a second time", release(ours), 3)
	m.want("the first to expire", release(other), 1)
	m.reads(ttls{"third": 20 * time.Second})
	m.enter(ours, 10*time.Second)
	m.advance(10*time.Second + time.Millisecond)
	m.want("expired", release(ours), 3)
	m.want("the last one in", release("third"), 1)
	m.reads(nil)
}

func TestVerifyOfAReaderLooksAndChangesNothing(t *testing.T) {
	m := newClockMaster(t)
	verify := func() any { return m.eval(ReaderVerify, []string{key}, ours) }
	m.want("no key", verify(), 3)
	m.enter(other, time.Minute)
	m.want("another's", verify(), 3)
	m.enter(ours, time.Second)
	before := m.Dump()
	m.want("ours", verify(), 1)
	m.advance(time.Second)
	m.want("in its last millisecond", verify(), 1)
	m.advance(time.Millisecond)
	m.want("expired", verify(), 3)
	if after := m.Dump(); after != before {
		t.Errorf("changed from\n%sto\n%s", before, after)
	}
}

// A key of another type, and a sorted set that is not the readers', is somebody
// else's: never a vote, never touched.
func TestAReadersScriptsLeaveOtherTypesAlone(t *testing.T) {
	kinds := maps.Clone(otherTypes)
	kinds["somebody's sorted set"] = []any{"ZADD", key, 1, "player"}
	kinds["one of instants"] = []any{"ZADD", key, time.UnixMilli(1_790_000_010_123).UnixMilli(), "event"}
	for name, command := range kinds {
		for _, expires := range []bool{true, false} {
			t.Run(name+", expires: "+strconv.FormatBool(expires), func(t *testing.T) {
				m := newClockMaster(t)
				m.do(command[0].(string), command[1:]...)
				if expires {
					m.do("PEXPIRE", key, 5000)
				}
				m.unchanged(func() {
					m.want("acquire", m.enter("token", time.Minute), 0)
					m.want("extend", m.eval(ReaderExtend, []string{key}, "token", 60_000, "1", longest), 0)
					m.want("adopt", m.eval(ReaderExtend, []string{key}, "token", 60_000, "0", longest), 0)
					for _, s := range []*Script{ReaderVerify, ReaderRelease} {
						want := int64(0)
						if command[0] == "ZADD" {
							want = 3 // it may be the readers', and we are not in
						}
						m.want(s.Name, m.eval(s, []string{key}, "token", longest), want)
					}
					if reply := m.run(Holder).([]any); string(reply[1].([]byte)) != "" {
						t.Errorf("holder says %q", reply)
					}
				})
			})
		}
	}
}

func TestHolderCountsReaders(t *testing.T) {
	m := newClockMaster(t)
	m.enter(ours, time.Minute)
	m.enter(other, time.Second)
	if got, want := m.run(Holder), []any{[]byte("zset"), []byte("2"), int64(60_000)}; !reflect.DeepEqual(got, want) {
		t.Errorf("returned %q, want %q", got, want)
	}
	m.advance(time.Second + time.Millisecond)
	if got, want := m.run(Holder), []any{[]byte("zset"), []byte("1"), int64(58_999)}; !reflect.DeepEqual(got, want) {
		t.Errorf("returned %q, want %q", got, want)
	}
}
