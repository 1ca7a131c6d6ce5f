package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

func (m *lua) text(cmd string, args ...any) string {
	m.t.Helper()
	s, err := redis.String(m.conn.Do(cmd, args...))
	if err != nil && err != redis.ErrNil { //nolint:errorlint // as redigo returns it
		m.t.Fatalf("%s: %v", cmd, err)
	}
	return s
}

// now is the master's clock in µs.
func (m *lua) now() int64 {
	m.t.Helper()
	parts, err := redis.Int64s(m.conn.Do("TIME"))
	if err != nil {
		m.t.Fatal(err)
	}
	return parts[0]*1e6 + parts[1]
}

// A modus is what a guarded script is asked for.
type modus struct {
	fenced bool
	number int64
	strict bool
	off    time.Duration // how far ahead the master's clock is, as we pretend
	third  string
}

const (
	fenceOf  = "redquorum:fence:1:"
	leaseOf  = "redquorum:lease:1:"
	retained = int64(100_000_000) // ms
)

// keys returns the script's keys, with the others after the locks.
func (o modus) keys(locks []string, others ...string) (keys []string) {
	add := func(prefix string, names []string) {
		for _, name := range names {
			keys = append(keys, prefix+name)
		}
	}
	add("", locks)
	add("", others)
	if o.fenced {
		add(fenceOf, locks)
	}
	if o.strict {
		add(leaseOf, locks)
	}
	return keys
}

// guarded calls a guarded script; the time in its reply is left out.
func (m *lua) guarded(s *Script, o modus, token string, ttl time.Duration, keys []string, before ...any) any {
	m.t.Helper()
	args := append(slices.Clone(before), token, ttl.Milliseconds(), o.third, "", "", "", retained)
	at := len(args) - 7
	if o.fenced {
		args[at+3] = o.number
	}
	if o.strict {
		sent := m.now() - o.off.Microseconds()
		args[at+4], args[at+5] = sent-500_000, sent+250_000+500_000
	}
	reply, err := m.conn.Do("EVAL", s.EvalArgs(s.Args(nil, keys, args...))...)
	if err != nil {
		return err
	}
	if parts, ok := reply.([]any); ok && len(parts) >= 3 && len(parts) < 6 {
		if at, ok := parts[2].(int64); !ok || o.strict && (at < m.now()-60e6 || at > m.now()) || !o.strict && at != 0 {
			m.t.Errorf("%s: the time in %v is not the master's", s.Name, parts)
		}
		return slices.Delete(parts, 2, 3)
	}
	return reply
}

// all returns every key with what is in it.
func (m *lua) all() map[string]string {
	m.t.Helper()
	names, err := redis.Strings(m.conn.Do("KEYS", "*"))
	if err != nil {
		m.t.Fatal(err)
	}
	found := make(map[string]string)
	for _, name := range names {
		if m.text("TYPE", name) == "string" {
			found[name] = m.text("GET", name)
		} else {
			found[name] = m.text("TYPE", name)
		}
	}
	return found
}

var one = []string{"a"}

func TestAFenceRisesWithEveryGrantAndOutlivesTheLock(t *testing.T) {
	m := newMaster(t).lua
	o := modus{fenced: true, number: 1_790_000_000_123_456}
	m.want("acquire", m.guarded(GuardedAcquire, o, ours, time.Minute, o.keys(one)), 1, o.number)
	m.want("acquire", m.guarded(GuardedAcquire, o, other, time.Minute, o.keys(one)), 0, 0)
	if got, want := m.all(), map[string]string{"a": ours, fenceOf + "a": fmt.Sprint(o.number)}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if ttl := m.do("PTTL", fenceOf+"a").(int64); ttl > retained || ttl < retained-60_000 {
		t.Errorf("the fence is kept for %d ms", ttl)
	}
	m.do("DEL", "a")
	m.want("the same floor", m.guarded(GuardedAcquire, o, other, time.Minute, o.keys(one)), 1, o.number+1)
	m.do("DEL", "a")
	o.number += 1000
	m.want("a higher floor", m.guarded(GuardedAcquire, o, other, time.Minute, o.keys(one)), 1, o.number)
}

// A single free lock takes another path (guarded_free.lua), so both are tested.
func TestAFenceThatIsNoNumberGrantsNothing(t *testing.T) {
	type fences struct {
		locks  []string
		values map[string]string // of the last lock
	}
	for _, test := range []fences{
		{[]string{"a", "b"}, map[string]string{
			"a hash": "", "a word": "word", "a fraction": "1.5", "at its end": "9007199254740990", "too long": "99999999999999999999",
		}},
		{one, map[string]string{
			"as long, not a one": "179000000012345x", "negative, as long": "-790000000123456",
			"a fraction": "1790000000123.45", "at its end": "9007199254740991", "longer": "00001790000000123",
		}},
	} {
		for name, value := range test.values {
			t.Run(fmt.Sprint(name, ", locks ", len(test.locks)), func(t *testing.T) {
				m := newMaster(t).lua
				o := modus{fenced: true, number: 1, strict: true}
				if len(test.locks) == 1 {
					o.number = 1_790_000_000_123_456
				}
				if fence := fenceOf + test.locks[len(test.locks)-1]; value == "" {
					m.do("HSET", fence, "f", "1")
				} else {
					m.do("SET", fence, value)
				}
				before := m.all()
				err, _ := m.guarded(GuardedAcquire, o, ours, time.Minute, o.keys(test.locks)).(error)
				if err == nil || !strings.HasPrefix(err.Error(), "FENCE ") {
					t.Errorf("%v", err)
				}
				if after := m.all(); !reflect.DeepEqual(after, before) {
					t.Errorf("%v, want %v", after, before)
				}
				if name == "at its end" { // a reader is given no more than there is
					return
				}
				keys := o.keys(test.locks[len(test.locks)-1:], "intents")
				got := m.guarded(GuardedReaderAcquire, o, ours, time.Minute, keys, longest)
				if _, failed := got.(error); !failed {
					t.Errorf("a reader got %v", got)
				}
			})
		}
	}
}

func TestSeveralLocksHaveOneToken(t *testing.T) {
	m := newMaster(t).lua
	o := modus{fenced: true, number: 5, strict: true}
	m.do("SET", fenceOf+"b", 10)
	keys := o.keys([]string{"a", "b"})
	m.want("acquire all", m.guarded(GuardedAcquire, o, ours, time.Minute, keys), 1, 11)
	want := map[string]string{"a": ours, "b": ours, fenceOf + "a": "11", fenceOf + "b": "11", leaseOf + "a": "zset", leaseOf + "b": "zset"}
	if got := m.all(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name := range want {
		if m.do("PTTL", name).(int64) <= 0 {
			t.Errorf("%s never expires", name)
		}
	}
	o.number, o.third = 11, "1"
	m.want("extend all", m.guarded(GuardedExtendAll, o, ours, time.Minute, keys), 1, 11)
	m.do("DEL", "a", fenceOf+"a")
	m.want("set again", m.guarded(GuardedExtendAll, o, ours, time.Minute, keys), 2, 11)
	if got := m.all(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	m.do("SET", "b", other)
	m.want("release all", m.eval(GuardedReleaseAll, []string{"a", "b", leaseOf + "a", leaseOf + "b"}, ours), 0) // b is another's
	m.want("acquire all, of which one is another's", m.guarded(GuardedAcquire, o, "third", time.Minute, keys), 0, 0)
	if got := m.text("GET", "b"); got != other {
		t.Errorf("b has %q", got)
	}
	m.do("DEL", "b")
	o.number = 20
	m.want("a higher floor", m.guarded(GuardedAcquire, o, ours, time.Minute, keys), 1, 20)
	m.do("SET", fenceOf+"a", 30)
	m.want("extend all, of which one has more", m.guarded(GuardedExtendAll, o, ours, time.Minute, keys), 1, 30)
}

// A raise stores the token that a reader has met, and lowers no fence: the next holder gets more.
func TestARaiseOfAReaderLowersNoFence(t *testing.T) {
	m := newMaster(t).lua
	for before, after := range map[string]string{"": "7", "5": "7", "9": "9", "word": "word"} {
		m.do("DEL", "fence")
		if before != "" {
			m.do("SET", "fence", before)
		}
		stored := int64(1)
		if after == "word" {
			stored = 0
		}
		m.want("raise of "+before, m.eval(RaiseKnown, []string{"fence"}, 7, retained), stored)
		if got := m.text("GET", "fence"); got != after {
			t.Errorf("%q has become %q, want %q", before, got, after)
		}
	}
}

// Nobody would clear the lease of a client that was refused.
func TestRefusedClientLeavesNoLease(t *testing.T) {
	m := newMaster(t).lua
	o := modus{strict: true, third: "1"}
	m.do("SET", "a", other) // of a client that is not strict
	m.want("extend", m.guarded(GuardedExtend, o, ours, time.Minute, o.keys(one)), 0, 0)
	m.want("read", m.guarded(GuardedReaderAcquire, o, ours, time.Minute, o.keys(one, "intents"), longest), 0, 0)
	if found := m.all(); len(found) != 1 {
		t.Errorf("%v", found)
	}
}

// If several clients adopt a token, each master lets one of them in. Nothing is left of the old
// token: no lease, no key.
func TestAnAdoptionReplacesTheTokenWhereItStands(t *testing.T) {
	for _, o := range []modus{{}, {fenced: true, number: 5}, {strict: true}, {fenced: true, number: 5, strict: true}} {
		m := newMaster(t).lua
		keys, adopts := o.keys(one), o
		adopts.third = ours
		m.want("where nothing is", m.guarded(GuardedAdopt, adopts, other, time.Minute, keys), 3, 0)
		if found := m.all(); len(found) != 0 {
			t.Fatalf("%v is written", found)
		}
		acquired := o
		acquired.fenced = true
		acquired.number = 7
		m.want("acquire", m.guarded(GuardedAcquire, acquired, ours, time.Minute, acquired.keys(one)), 1, 7)
		fence := int64(0)
		if o.fenced {
			fence = 8
		}
		m.want("adopt", m.guarded(GuardedAdopt, adopts, other, 2*time.Minute, keys), 1, fence)
		if got := m.text("GET", "a"); got != other {
			t.Errorf("the lock has %q", got)
		}
		if left := m.do("PTTL", "a").(int64); left <= 60_000 {
			t.Errorf("it has %d ms left", left)
		}
		if o.strict {
			if leases, _ := redis.Strings(m.do("ZRANGE", leaseOf+"a", 0, -1), nil); !slices.Equal(leases, []string{other}) {
				t.Errorf("leased to %v", leases)
			}
		}
		before := m.all()
		m.want("another that adopts", m.guarded(GuardedAdopt, adopts, "third", time.Minute, keys), 0, 0)
		m.want("the release of the old token", m.eval(Release, []string{"a"}, ours), 0)
		if after := m.all(); !reflect.DeepEqual(after, before) {
			t.Errorf("%v, want %v", after, before)
		}
		m.do("DEL", "a")
		m.do("RPUSH", "a", "of another type")
		m.want("something else there", m.guarded(GuardedAdopt, adopts, "third", time.Minute, keys), 0, 0)
	}
}

func TestALeaseOfSomebodyElseIsInTheWayOfAnAdoption(t *testing.T) {
	m := newMaster(t).lua
	o := modus{strict: true}
	adopts := o
	adopts.third = ours
	m.want("somebody else", m.guarded(GuardedAcquire, o, "else", time.Minute, o.keys(one)), 1, 0)
	m.do("SET", "a", ours, "PX", 60_000) // as after a jump of the clock that is over
	reply, _ := m.guarded(GuardedAdopt, adopts, other, time.Minute, o.keys(one)).([]any)
	if len(reply) != 4 || reply[0] != int64(6) {
		t.Errorf("the adoption returned %v", reply)
	}
	if got := m.text("GET", "a"); got != ours {
		t.Errorf("the lock has %q", got)
	}
}

// The model of verification/fencing finds this where only the owner is compared: the first attempt
// is executed a second time after others have held the lock.
func TestARaiseComparesTheFenceAndNotTheOwnerAlone(t *testing.T) {
	m := newMaster(t).lua
	o := modus{fenced: true, number: 5}
	raise := func(token string, from, to int64) any {
		return m.eval(Raise, []string{"a", fenceOf + "a"}, token, from, to, retained)
	}
	m.want("acquire", m.guarded(GuardedAcquire, o, ours, time.Minute, o.keys(one)), 1, 5)
	m.do("DEL", "a") // it expires
	m.want("another", m.guarded(GuardedAcquire, o, other, time.Minute, o.keys(one)), 1, 6)
	m.want("raise by one that is not the owner", raise(ours, 5, 8), 0)
	m.do("DEL", "a") // expires as well
	m.want("the late duplicate", m.guarded(GuardedAcquire, o, ours, time.Minute, o.keys(one)), 1, 7)
	m.want("raise after that", raise(ours, 5, 6), 0)
	if got := m.text("GET", fenceOf+"a"); got != "7" {
		t.Errorf("the fence fell to %s", got)
	}
	m.want("raise of what was given", raise(ours, 7, 9), 1)
	if got := m.text("GET", fenceOf+"a"); got != "9" {
		t.Errorf("the fence is %s", got)
	}
}

func TestWhereTheClocksDifferNothingIsWritten(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour, time.Second, -time.Second} {
		m := newMaster(t).lua
		o := modus{fenced: true, number: 5, strict: true, off: off, third: "1"}
		keys := o.keys(one)
		readers := o.keys(one, "intents")
		queue := append([]string{"a", "queue"}, keys[1:]...)
		for _, s := range []*Script{GuardedAcquire, GuardedExtend, GuardedExtendAll, GuardedReaderExtend, GuardedAdopt} {
			m.want(s.Name, m.guarded(s, o, ours, time.Minute, keys), 5, 0)
		}
		m.want("reader", m.guarded(GuardedReaderAcquire, o, ours, time.Minute, readers, longest), 5, 0)
		m.want("take", m.guarded(GuardedQueue, o, ours, time.Minute, queue, "take", "me", ""), 5, 0)
		if found := m.all(); len(found) != 0 {
			t.Errorf("%v is written", found)
		}
		o.off = off / 10000 // at most 0.36 s, which is within
		m.want("acquire", m.guarded(GuardedAcquire, o, ours, time.Minute, keys), 1, 5)
	}
}

// A jump of the clock has deleted the locks, and the clock is right again.
func TestALeaseKeepsOthersOutWhenTheLockIsGone(t *testing.T) {
	m := newMaster(t).lua
	o := modus{strict: true, third: "1"}
	keys, readers := o.keys(one), o.keys(one, "intents")
	queue := append([]string{"a", "queue"}, keys[1:]...)
	refusedBy := func(what string, reply any, holder string) {
		t.Helper()
		parts, ok := reply.([]any)
		if !ok || len(parts) != 4 || parts[0] != int64(6) || string(parts[3].([]byte)) != holder || parts[2].(int64) < 50_000 || parts[2].(int64) > 60_000 {
			t.Errorf("%s returned %v, want 6 for %q", what, reply, holder)
		}
	}
	release := func(s *Script, token string, want int64) {
		t.Helper()
		m.want(s.Name, m.eval(s, []string{"a", leaseOf + "a"}, token, longest), want)
	}
	m.want("the writer", m.guarded(GuardedAcquire, o, ours, time.Minute, keys), 1, 0)
	m.do("DEL", "a")
	refusedBy("a writer", m.guarded(GuardedAcquire, o, other, time.Minute, keys), ours)
	refusedBy("a reader", m.guarded(GuardedReaderAcquire, o, other, time.Minute, readers, longest), ours)
	refusedBy("an extension that sets again", m.guarded(GuardedExtend, o, other, time.Minute, keys), ours)
	refusedBy("a reader's", m.guarded(GuardedReaderExtend, o, other, time.Minute, keys, longest), ours)
	took := m.guarded(GuardedQueue, o, other, time.Minute, queue, "take", "me", "").([]any)
	if len(took) != 6 || string(took[3].([]byte)) != "lease" || string(took[4].([]byte)) != ours {
		t.Errorf("take returned %v", took)
	}
	m.do("DEL", "queue")
	if found := m.all(); len(found) != 1 {
		t.Errorf("%v", found)
	}
	m.want("the holder's extension", m.guarded(GuardedExtend, o, ours, time.Minute, keys), 2, 0)
	m.do("DEL", "a")
	release(GuardedRelease, other, 3) // clears only its own lease
	refusedBy("a writer", m.guarded(GuardedAcquire, o, other, time.Minute, keys), ours)
	release(GuardedRelease, ours, 3)

	m.want("a reader", m.guarded(GuardedReaderAcquire, o, "r1", time.Minute, readers, longest), 1, 0)
	m.do("DEL", "a")
	m.want("another reader", m.guarded(GuardedReaderAcquire, o, "r2", time.Minute, readers, longest), 1, 0)
	m.do("DEL", "a")
	refusedBy("a writer", m.guarded(GuardedAcquire, o, other, time.Minute, keys), "r2")
	release(GuardedReaderRelease, "r2", 3)
	refusedBy("a writer", m.guarded(GuardedAcquire, o, other, time.Minute, keys), "r1")
	release(GuardedReaderRelease, "r1", 3)

	m.want("a reader again", m.guarded(GuardedReaderAcquire, o, "r3", time.Minute, readers, longest), 1, 0)
	m.want("release of the queue", m.eval(Queue, []string{"a", "queue", leaseOf + "a"}, "release", "me", ours), 0)
	release(GuardedReaderRelease, "r3", 1)
	if found := m.all(); len(found) != 0 {
		t.Errorf("%v is left", found)
	}
}

func TestALeaseEndsWithItsTTLAndIsNeverShortened(t *testing.T) {
	m := newClockMaster(t)
	l := m.lua
	o := modus{strict: true, third: "1"}
	keys := o.keys(one)
	l.want("acquire", l.guarded(GuardedAcquire, o, ours, 10*time.Second, keys), 1, 0)
	if l.do("PTTL", leaseOf+"a").(int64) <= 0 {
		t.Error("the record never expires")
	}
	l.want("extend", l.guarded(GuardedExtend, o, ours, time.Second, keys), 1, 0)
	l.do("DEL", "a")
	m.advance(10 * time.Second)
	if got := l.guarded(GuardedAcquire, o, other, time.Second, keys).([]any)[0]; got != int64(6) {
		t.Errorf("at its last instant: %v, want 6", got)
	}
	m.advance(time.Millisecond)
	l.want("acquire after that", l.guarded(GuardedAcquire, o, other, time.Second, keys), 1, 0)
	// The first one's record goes only when it is over by the client's clock too.
	if n := l.do("ZCARD", leaseOf+"a"); n != int64(2) {
		t.Errorf("%v records, want 2", n)
	}
	m.advance(time.Minute)
	l.want("acquire", l.guarded(GuardedAcquire, o, "third", time.Second, keys), 1, 0)
	if n := l.do("ZCARD", leaseOf+"a"); n != int64(1) {
		t.Errorf("%v records, want 1", n)
	}
}
