package voters

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
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
		g.newsOver = g.news
	}
	g.open.Store(open)
}

// Await blocks while too few masters may vote and enough of them may soon: those that are
// being asked, or dialled for the first time since they were lost. It blocks for limit at
// most (not at all with 0), and until ctx ends or the client closes. It returns how long it has waited, and
// whether nothing is left to wait for.
func (g *Monitor) Await(ctx context.Context, limit time.Duration) (waited time.Duration, ok bool) {
	if g == nil || !g.open.Load() {
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
	case <-g.cfg.Life.Done():
	case <-t.C:
	}
	return time.Since(began), ok
}

// Early returns what one acquisition needs to ask the masters before they are judged, once
// in the Monitor's life. It saves a round trip where a client locks as soon as it is made.
// nil: wait as usual. That is so once a quorum may vote, in strict, which compares clocks
// first, and where the masters' locks are in databases of different numbers, since one
// command goes to all. It does not block.
func (g *Monitor) Early() *guard.Early {
	if g == nil || !g.open.Load() || !g.early.CompareAndSwap(true, false) {
		return nil
	}
	g.mu.Lock()
	defer g.unlock()
	return g.cfg.Guard.Early(g.cfg.Masters[0].DB())
}

func haveOneDB(masters []*pipeline.Pipeline) bool {
	for _, m := range masters {
		if m.DB() != masters[0].DB() {
			return false
		}
	}
	return true
}
