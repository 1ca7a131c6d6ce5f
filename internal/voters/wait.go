package voters

import (
	"context"
	"time"
)

// Calls wait for masters that are about to be judged.

// setOpen wakes the calls that wait when there is nothing left to wait for. unlock does
// that last, so the Monitor's questions go out before theirs. The caller must hold g.mu.
func (g *Monitor) setOpen(open bool) {
	switch {
	case open == g.open.Load():
		return
	case open:
		g.news = make(chan struct{})
	default:
		g.over = append(g.over, g.news)
	}
	g.open.Store(open)
}

// countVotes wakes the calls that wait for a quorum when a quorum begins to vote. A silent master
// does not count. unlock wakes them last. The caller must hold g.mu.
func (g *Monitor) countVotes() {
	votes := 0
	for i := range g.masters {
		if g.masters[i].standing.Vote && !g.cfg.Masters[i].Silent() {
			votes++
		}
	}
	if g.votes < g.cfg.Need && votes >= g.cfg.Need {
		g.over = append(g.over, g.begins)
		g.begins, g.began = make(chan struct{}), time.Now()
	}
	g.votes = votes
}

// Begins is closed when a quorum begins to vote. It is closed already if one has begun since then.
func (g *Monitor) Begins(since time.Time) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.began.Before(since) {
		begun := make(chan struct{})
		close(begun)
		return begun
	}
	return g.begins
}

// AddWaiting counts calls that wait for a quorum: n more, or fewer. While there are any, masters that
// are down are dialled sooner.
func (g *Monitor) AddWaiting(n int) {
	for _, m := range g.cfg.Masters {
		m.AddWaiting(n)
	}
}

// Await blocks while too few masters may vote and enough of them may soon: those that are
// being asked, or dialled for the first time since they were lost. It blocks for limit at
// most (not at all with 0), and until ctx ends or the client closes. It returns how long it has waited, and
// whether nothing is left to wait for.
func (g *Monitor) Await(ctx context.Context, limit time.Duration) (waited time.Duration, ok bool) {
	if !g.open.Load() {
		return 0, true
	}
	g.mu.Lock()
	news, open := g.news, g.open.Load()
	g.mu.Unlock()
	if !open || limit <= 0 {
		return 0, !open
	}
	began := time.Now()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-news:
		ok = true
	case <-ctx.Done():
	case <-g.cfg.Closing.Done():
	case <-t.C:
	}
	return time.Since(began), ok
}
