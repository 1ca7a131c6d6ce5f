//go:build mutants

package redlock

import (
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// Mistakes that take more than a line; see internal/mutant.

var shorteningExtend = script.New("extend", strings.Replace(script.Extend.Source,
	"redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2])", "true", 1))

var raiseByOwner = script.New("raise", strings.Replace(script.Raise.Source,
	" or redis.pcall('GET', KEYS[n + i]) ~= ARGV[2]", "", 1))

var leaselessAcquire = script.New("guarded_acquire", strings.Replace(script.GuardedAcquire.Source,
	"local taken = any_leased(leases, false)", "local taken = nil", 1))

// askShorteningExtend is askExtend, whatever is left of the TTL.
func (l *Lock) askShorteningExtend(r *round, again any) {
	r.eval(shorteningExtend, l.keyArgs, 0, time.Time{}, l.token, l.ttlArg(), again)
}

var open struct {
	sync.Mutex
	rounds map[*Client]*round
}

// noteOpen remembers the client's latest attempt.
func (c *Client) noteOpen(r *round) {
	open.Lock()
	defer open.Unlock()
	if open.rounds == nil {
		open.rounds = make(map[*Client]*round)
	}
	open.rounds[c] = r
}

// countInNext counts a reply that comes after its attempt was decided in the
// client's next one, as where the tally of a decided round is used again at once.
func (r *round) countInNext(c *pipeline.Call) {
	r.mu.Lock()
	late := r.op == opLock && r.outcome != quorum.Open
	key := ""
	if r.lock != nil {
		key = r.lock.fullKey()
	}
	r.mu.Unlock()
	open.Lock()
	next := open.rounds[r.c]
	open.Unlock()
	if !late || next == nil || next == r {
		return
	}
	next.mu.Lock()
	defer next.mu.Unlock()
	if next.outcome != quorum.Open || next.lock == nil || next.lock.fullKey() != key {
		return
	}
	if a := next.read(c); a.verdict == agreed && a.slot == 0 && next.tally.Outstanding() > 0 {
		next.answers[c.Slot] = a
		next.tally.OK++
		next.decide()
	}
}
