package script

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A wanted lock is a part of a batch.
type wanted struct {
	lock, token string
	ttl         time.Duration
	number      int64         // the least fencing token; 0: not fenced
	off         time.Duration // how far ahead the master's clock is, as we pretend
}

// args are the first six arguments of guarded.lua for it: token, TTL, an unused one, number, least
// and most.
func (w wanted) args(strict bool, now int64) []any {
	args := []any{w.token, w.ttl.Milliseconds(), "0", "", "", ""}
	if w.number != 0 {
		args[3] = w.number
	}
	if strict {
		sent := now - w.off.Microseconds()
		args[4], args[5] = sent-500_000, sent+60_000_000
	}
	return args
}

// oneByOne acquires each lock alone.
func (m *lua) oneByOne(strict bool, all []wanted) (replies []string) {
	m.t.Helper()
	for _, w := range all {
		keys := []string{w.lock}
		if w.number != 0 {
			keys = append(keys, fenceOf+w.lock)
		}
		if strict {
			keys = append(keys, leaseOf+w.lock)
		}
		args := w.args(strict, m.now())
		args = append(args, retained)
		reply, err := m.conn.Do("EVAL", GuardedAcquire.EvalArgs(GuardedAcquire.Args(nil, keys, args...))...)
		if err != nil {
			reply = err
		}
		replies = append(replies, m.inShort(reply))
	}
	return replies
}

// together acquires all locks at once. Fenced ones have to come first.
func (m *lua) together(strict bool, all []wanted) (replies []string) {
	m.t.Helper()
	now := m.now()
	var keys, fences, leases []string
	var args []any
	for _, w := range all {
		keys, leases = append(keys, w.lock), append(leases, leaseOf+w.lock)
		if w.number != 0 {
			fences = append(fences, fenceOf+w.lock)
		}
		args = append(args, w.args(strict, now)...)
	}
	keys = append(keys, fences...)
	if strict {
		keys = append(keys, leases...)
	}
	values, err := redis.Values(m.conn.Do("EVAL", AcquireBatch.EvalArgs(AcquireBatch.Args(nil, keys, append(args, retained)...))...))
	if err != nil || len(values) < 3*len(all) {
		m.t.Fatalf("%v, %v", values, err)
	}
	others := values[3*len(all):]
	for i, w := range all {
		if three := values[3*i : 3*i+3]; three[0] != any(int64(-1)) {
			if three[0] == any(int64(1)) && three[1] == any(int64(0)) {
				three[1] = w.number
			}
			replies = append(replies, m.inShort(three))
			continue
		}
		replies = append(replies, m.inShort(others[0]))
		others = others[1:]
	}
	if len(others) != 0 {
		m.t.Fatalf("%v are nobody's", others)
	}
	return replies
}

// inShort is a reply without what differs from one call to the next: times, and the parts of an
// error that name the script or a position in it.
func (m *lua) inShort(reply any) string {
	var refused redis.Error
	if err, ok := reply.(error); ok {
		if !errors.As(err, &refused) {
			m.t.Fatal(err)
		}
		return redistest.Code(refused)
	}
	parts := slices.Clone(reply.([]any))
	if at := parts[2].(int64); at != 0 {
		if now := m.now(); at < now-60e6 || at > now {
			m.t.Errorf("the time in %v is not the master's", parts)
		}
		parts[2] = "now"
	}
	if len(parts) > 3 {
		parts[3] = math.Round(float64(parts[3].(int64)) / 60_000)
		parts[4] = string(parts[4].([]byte))
	}
	return strings.Trim(fmt.Sprint(parts), "[]")
}

// everything is all keys with what is in them and for how many minutes they are kept.
func (m *lua) everything() (all []string) {
	m.t.Helper()
	for name, value := range m.all() {
		if value == "zset" {
			members, err := redis.Strings(m.conn.Do("ZRANGE", name, 0, -1, "WITHSCORES"))
			if err != nil {
				m.t.Fatal(err)
			}
			for i := 0; i < len(members); i += 2 {
				ends, err := strconv.ParseFloat(members[i+1], 64)
				if err != nil {
					m.t.Fatal(err)
				}
				left := math.Abs(ends) - float64(m.now()/1000)
				value += fmt.Sprintf(" %s ends in %.0f min, writer: %t", members[i], left/60_000, ends < 0)
			}
		}
		all = append(all, fmt.Sprintf("%s: %s for %.0f min", name, value, float64(m.do("PTTL", name).(int64))/60_000))
	}
	slices.Sort(all)
	return all
}

// prepare makes the obstacles that locks meet, at random but the same for a seed.
func (m *lua) prepare(seed uint64, strict bool) (all []wanted) {
	m.t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	m.do("FLUSHALL")
	const number = 1_790_000_000_123_456
	fenced, unfenced := random.IntN(12), random.IntN(4)
	for i := range 1 + fenced + unfenced {
		w := wanted{lock: fmt.Sprint("lock-", i), token: fmt.Sprint("token-", i), ttl: time.Duration(1+random.IntN(3)) * time.Minute}
		if i < fenced {
			w.number = number
		}
		if i > 0 && (i < fenced || i > fenced) && random.IntN(10) == 0 {
			w.lock = all[i-1].lock // the same lock, with another token
		} else if random.IntN(2) == 0 {
			m.obstruct(random, w, number)
		}
		if random.IntN(20) == 0 {
			w.off = time.Duration(random.IntN(3)-1) * time.Hour
		}
		all = append(all, w)
	}
	return all
}

func (m *lua) obstruct(random *rand.Rand, w wanted, number int64) {
	m.t.Helper()
	now := m.now() / 1000
	lease := leaseOf + w.lock
	pick := func(commands ...[]any) {
		if c := commands[random.IntN(len(commands))]; c != nil {
			m.do(c[0].(string), c[1:]...)
		}
	}
	pick(nil, nil, nil,
		[]any{"SET", w.lock, other, "PX", 600_000},
		[]any{"SET", w.lock, w.token},
		[]any{"HSET", w.lock, "f", "v"},
	)
	fence := fenceOf + w.lock
	pick(nil,
		[]any{"SET", fence, number - 1}, []any{"SET", fence, number}, []any{"SET", fence, number + 5}, []any{"SET", fence, 7},
		[]any{"SET", fence, "9007199254740991"}, []any{"SET", fence, "9007199254740990"}, []any{"SET", fence, "word"},
		[]any{"SET", fence, "179000000012345x"}, []any{"SET", fence, "-790000000123456"}, []any{"SET", fence, "1790000000123.45"},
		[]any{"HSET", fence, "f", "v"},
	)
	pick(nil, nil,
		[]any{"ZADD", lease, -(now + 1_200_000), other}, []any{"ZADD", lease, now + 1_200_000, other},
		[]any{"ZADD", lease, -(now - 1_200_000), other}, []any{"ZADD", lease, -(now + 1_200_000), w.token},
		[]any{"ZADD", lease, -(now - 1_200_000), other, -(now + 1_200_000), w.token},
		[]any{"SET", lease, "no record"},
	)
}

func TestJoinedAcquisitionsDoWhatEachWouldDo(t *testing.T) {
	m := newMaster(t).lua
	met := make(map[string]int)
	for seed := range uint64(300) {
		strict := seed%2 == 0
		single := m.oneByOne(strict, m.prepare(seed, strict))
		after := m.everything()
		all := m.prepare(seed, strict)
		batch := m.together(strict, all)
		if !slices.Equal(batch, single) {
			t.Fatalf("seed %d: together %q, one by one %q, of %+v", seed, batch, single, all)
		}
		if now := m.everything(); !slices.Equal(now, after) {
			t.Errorf("seed %d: together\n%s\none by one\n%s", seed, strings.Join(now, "\n"), strings.Join(after, "\n"))
		}
		for _, reply := range batch {
			met[strings.Fields(reply)[0]]++
		}
	}
	for _, reply := range []string{"0", "1", "5", "6", "FENCE"} {
		if met[reply] == 0 {
			t.Errorf("nothing was answered with %s: %v", reply, met)
		}
	}
}

// If a command fails, only its own lock is not granted.
func TestOfJoinedAcquisitionsEachFailsAlone(t *testing.T) {
	m := newMaster(t).lua
	all := []wanted{{"a", "token-a", time.Minute, 0, 0}, {"b", "token-b", -time.Minute, 0, 0}, {"c", "token-c", time.Minute, 0, 0}}
	for _, strict := range []bool{false, true} {
		m.do("FLUSHALL")
		batch := m.together(strict, all)
		if batch[1] != "ERR" || batch[0][0] != '1' || batch[2][0] != '1' {
			t.Errorf("%q", batch)
		}
		if found := m.all(); found["a"] != "token-a" || found["b"] != "" || found["c"] != "token-c" {
			t.Errorf("%v", found)
		}
	}
}
