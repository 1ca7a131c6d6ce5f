//go:build mutants

package ballot

import (
	"sync"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

var open struct {
	sync.Mutex
	latest map[*Config]*Ballot
}

// NoteOpen remembers the client's latest attempt.
func (b *Ballot) NoteOpen() {
	open.Lock()
	defer open.Unlock()
	if open.latest == nil {
		open.latest = make(map[*Config]*Ballot)
	}
	open.latest[b.cfg] = b
}

// countInNext counts a reply that comes after its attempt was decided in the
// client's next one, as where the tally of a decided ballot is used again at once.
func (b *Ballot) countInNext(c *pipeline.Call) {
	b.mu.Lock()
	late, key := b.Rules.Acquires && b.outcome != quorum.Open, b.Command.Key
	b.mu.Unlock()
	open.Lock()
	next := open.latest[b.cfg]
	open.Unlock()
	if !late || next == nil || next == b {
		return
	}
	next.mu.Lock()
	defer next.mu.Unlock()
	if next.outcome != quorum.Open || next.Command.Key != key {
		return
	}
	if a := next.q.Read(c); a.Verdict == Agreed && a.Candidate == 0 && next.tally.Outstanding() > 0 {
		next.answers[c.Slot] = a
		next.tally.OK++
		next.decide()
	}
}
