package ballot

import (
	"sync"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// The mistake "a late reply counts in the next attempt": a client has one tally. Its next
// attempt reuses it at once, while replies to the one before are still under way.

// latest is the last question of each client that counts votes.
var latest struct {
	sync.Mutex
	of map[*Config]*Round
}

// noteLatest is called when a question is about to be sent.
func (b *Round) noteLatest() {
	if !b.Rules.Votes {
		return
	}
	latest.Lock()
	defer latest.Unlock()
	if latest.of == nil {
		latest.of = make(map[*Config]*Round)
	}
	latest.of[b.cfg] = b
}

// countInNext is called with every reply. One that comes after its question was
// decided counts in the client's latest question about the same key.
func (b *Round) countInNext(c *pipeline.Call) {
	b.mu.Lock()
	late, key := b.Rules.Votes && b.outcome != quorum.Open, b.Command.Key
	b.mu.Unlock()
	latest.Lock()
	next := latest.of[b.cfg]
	latest.Unlock()
	if !late || next == nil || next == b {
		return
	}
	next.mu.Lock()
	defer next.mu.Unlock()
	if next.outcome != quorum.Open || next.Command.Key != key {
		return
	}
	if a := next.q.Read(c); a.Verdict == Agreed && next.tally.Outstanding() > 0 {
		next.answers[c.Slot] = a
		next.tally.OK++
		next.decide()
	}
}
