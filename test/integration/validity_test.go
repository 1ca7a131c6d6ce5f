package integration

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
)

// earliestExpiry is when the first of the masters deletes the key.
func (m *masters) earliestExpiry(key string) time.Time {
	var first time.Time
	m.each(func(i int) {
		if at := time.UnixMilli(m.expires(i, key)); first.IsZero() || at.Before(first) {
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

// Remaining, ValidUntil and Err compute: they never say more than the masters keep, less
// the allowance.
func TestRemainingIsNeverMoreThanTheMastersKeep(t *testing.T) {
	const ttl = time.Second
	const allowance = ttl/10 + 150*time.Millisecond
	p := startProcesses(t, five)
	l := mustTry(t, p.open(wideDrift), "lock", redlock.WithLease(ttl))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	expiry := p.earliestExpiry("lock")
	if ahead := expiry.Sub(l.ValidUntil()); ahead < allowance-rounding {
		t.Errorf("a master expires the key %v after ValidUntil, want the allowance of %v or more", ahead, allowance)
	}
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
	wantLost(t, l, redlock.ReasonExpired)
	p.wantFree("lock")
}
