package integration

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// expiry is the instant at which a master will delete a key, by its own clock,
// which is that of this machine.
func (m *masters) expiry(i int, key string) time.Time {
	m.t.Helper()
	reply, err := redis.Int64s(m.command(i, "EVAL",
		`local now = redis.call('TIME'); return {tonumber(now[1]), tonumber(now[2]), redis.call('PTTL', KEYS[1])}`, 1, key))
	if err != nil || len(reply) != 3 || reply[2] < 0 {
		m.t.Fatalf("master %d: expiry of %s: %v, %v", i, key, reply, err)
	}
	return time.Unix(reply[0], reply[1]*1000).Add(time.Duration(reply[2]) * time.Millisecond)
}

// earliestExpiry is when the first of the masters deletes the key.
func (m *masters) earliestExpiry(key string) time.Time {
	var first time.Time
	m.each(func(i int) {
		if at := m.expiry(i, key); first.IsZero() || at.Before(first) {
			first = at
		}
	})
	return first
}

// rounding is by how much TIME and PTTL may be off together: PTTL is in whole
// milliseconds, by a clock that Redis reads once a command.
const rounding = 3 * time.Millisecond

// The allowance for clock drift is what lies between the end of the context and
// the expiry of the first key; wide enough here for a machine with much to do.
var wideDrift = redlock.WithDrift(drift.Policy{Factor: 0.1, Floor: 150 * time.Millisecond})

func TestTheContextEndsBeforeAnyMasterExpiresTheKey(t *testing.T) {
	const ttl = time.Second
	const allowance = ttl/10 + 150*time.Millisecond
	p := startProcesses(t, five)
	c := p.open(wideDrift)
	l := mustTry(t, c, "lock", redlock.WithLease(ttl))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	expiry := p.earliestExpiry("lock")
	if ahead := expiry.Sub(l.ValidUntil()); ahead < allowance-rounding {
		t.Errorf("a master expires the key %v after ValidUntil, want the allowance of %v or more", ahead, allowance)
	}
	ended := await(t, settleBound, "the lease ends", l.Context().Done())
	if !ended.Before(expiry) {
		t.Errorf("the context ended %v after a master could expire the key", ended.Sub(expiry))
	}
	if early := l.ValidUntil().Sub(ended); early > rounding {
		t.Errorf("the context ended %v before ValidUntil", early)
	}
	for i := range five {
		if v := p.value(i, "lock"); v != l.Token() && time.Now().Before(expiry.Add(-rounding)) {
			t.Errorf("master %d has %q when the context has ended", i, v)
		}
	}
	wantLost(t, l, redlock.ReasonExpired)
	p.wantFree("lock")
}

// Remaining and Err compute: they never say more than the masters keep.
func TestRemainingIsNeverMoreThanTheMastersKeep(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	l := mustTry(t, c, "lock", redlock.WithLease(800*time.Millisecond))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	expiry := p.earliestExpiry("lock")
	for {
		before := time.Now()
		left, alive := l.Remaining(), l.Context().Err() == nil
		if until := before.Add(left); left > 0 && until.After(expiry) {
			t.Fatalf("%v remaining, %v beyond the expiry", left, until.Sub(expiry))
		}
		if alive && !before.Before(expiry) {
			t.Fatalf("the context lived %v beyond the expiry", before.Sub(expiry))
		}
		if left == 0 {
			break
		}
	}
	if l.Context().Err() == nil {
		t.Error("nothing remains and the context lives")
	}
	p.wantFree("lock")
}

// A majority stops answering right before a renewal. The renewal is on its way,
// and may even be executed later: the context ends by what was confirmed.
func TestARenewalUnderWayDoesNotPostponeTheEndOfTheContext(t *testing.T) {
	const ttl = 1500 * time.Millisecond
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.open(trace, wideDrift, redlock.WithPool(
		pool.WithCommandTimeout(8*time.Second), pool.WithStallLimit(time.Minute)))
	l := mustTry(t, c, "lock", redlock.WithTTL(ttl))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	renewed.awaitMore(t, "lock", 1)
	p.freeze(0, 1, 2)
	before := p.calls(3, "evalsha")
	eventually(t, "a renewal is under way", func() bool { return p.calls(3, "evalsha") > before })
	until := l.ValidUntil() // by the last renewal that a majority confirmed
	ended := await(t, settleBound, "the lock is lost", l.Context().Done())
	if early := until.Sub(ended); early > rounding {
		t.Errorf("the context ended %v before ValidUntil", early)
	}
	// The frozen masters keep the key until the allowance after ValidUntil.
	if late := ended.Sub(until); late >= ttl/10+150*time.Millisecond {
		t.Errorf("the context ended %v after ValidUntil: a majority could have expired the key", late)
	}
	wantLost(t, l, redlock.ReasonUnreachable)
	if now := l.ValidUntil(); !now.Equal(until) {
		t.Errorf("a renewal that two masters answered moved ValidUntil by %v", now.Sub(until))
	}

	// What was on its way sets the key again, and is released right behind.
	p.thaw(0, 1, 2)
	for i := range 3 {
		eventually(t, "the late renewal is executed", func() bool { return p.calls(i, "evalsha") >= 2 })
	}
	p.wantFree("lock")
	wantExactly(t, "Extend", l.Extend(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
}
