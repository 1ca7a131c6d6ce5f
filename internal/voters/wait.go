package voters

import (
	"context"
	"time"
)

// Calls wait for masters that are about to be judged.

// setOpen has those who wait told when there is nothing left to wait for, behind
// what is to be sent: the Monitor's questions go out before theirs. The caller
// must hold g.mu.
func (g *Monitor) setOpen(open bool) {
	switch {
	case open == g.open.Load():
		return
	case open:
		g.news = make(chan struct{})
	default:
		g.newsOver = g.news
	}
	g.open.Store(open)
}

// Await blocks while too few masters may vote but enough may soon: they are being
// dialled for the first time since they were lost, or asked. It blocks for limit
// at the most, until ctx ends or the client closes. It reports for how long it did,
// and whether there is nothing left to wait for.
func (g *Monitor) Await(ctx context.Context, limit time.Duration) (waited time.Duration, ok bool) {
	if g == nil || !g.open.Load() {
		return 0, true
	}
	g.mu.Lock()
	news, open := g.news, g.open.Load()
	g.mu.Unlock()
	if !open {
		return 0, true
	}
	began := time.Now()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-news:
		ok = true
	case <-ctx.Done():
	case <-g.life.Done():
	case <-t.C:
	}
	return time.Since(began), ok
}
