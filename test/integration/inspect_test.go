package integration

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// What the masters say is what Redis says, of every sort of key.
func TestInspectOnRealMasters(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open(redlock.WithOwner("billing"))
	ctx := context.Background()
	inspect := func(key string, want redlock.Verdict) *redlock.Inspection {
		t.Helper()
		in, err := c.Inspect(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if in.Verdict != want {
			t.Fatalf("%s: %v, want %v", in, in.Verdict, want)
		}
		return in
	}

	inspect("lock", redlock.VerdictFree)
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	in := inspect("lock", redlock.VerdictHeld)
	if h := in.Holders[0]; h.Token != l.Token() || h.Owner != "billing" || h.Masters != five || h.TTL <= 0 || h.TTL > longTTL {
		t.Errorf("%+v", h)
	}
	for _, m := range in.Masters {
		if m.RoundTrip <= 0 || m.Err != nil {
			t.Errorf("%+v", m)
		}
	}

	for i := range five {
		p.do(i, "RPUSH", "list", "x")
		now, err := redis.Int64s(p.do(i, "TIME"), nil)
		if err != nil {
			t.Fatal(err)
		}
		ms := now[0]*1000 + now[1]/1000
		p.do(i, "ZADD", "readers", strconv.FormatInt(ms+60_000, 10), "one", strconv.FormatInt(ms+90_000, 10), "two",
			strconv.FormatInt(ms-1, 10), "over", "+inf", "for ever")
		p.do(i, "PEXPIRE", "readers", 90_000)
	}
	inspect("list", redlock.VerdictHeld)
	in = inspect("readers", redlock.VerdictHeld)
	for _, m := range in.Masters {
		if m.ReaderCount != 3 || len(m.Readers) != 3 || m.Readers[1].Token != "two" || m.Readers[2].Token != "one" {
			t.Fatalf("%+v", m)
		}
		if d := m.Readers[2].TTL; d <= 0 || d > time.Minute {
			t.Errorf("%v left of a minute", d)
		}
	}

	p.foreign("split", "a", 0, 1)
	p.foreign("split", "b", 2, 3)
	inspect("split", redlock.VerdictSplit)

	p.kill(0)
	p.freeze(1)
	in = inspect("lock", redlock.VerdictHeld)
	if err := in.Masters[0].Err; err == nil { // its connection may be lost, or known to be
		t.Errorf("a killed master: %v", err)
	}
	if err := in.Masters[1].Err; !errors.Is(err, pool.ErrTimeout) {
		t.Errorf("a frozen master: %v", err)
	}
	if h := in.Holders[0]; h.Masters != 3 {
		t.Errorf("%+v", h)
	}
	inspect("split", redlock.VerdictUnknown)
	p.thaw(1)
	p.restart(0)
	mustUnlock(t, l)
	for i := range five {
		p.do(i, "DEL", "list", "readers", "split")
	}
}
