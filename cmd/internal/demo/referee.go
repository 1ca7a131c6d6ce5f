package demo

import (
	"context"
	"slices"
	"sync"

	"github.com/redquorum/redquorum/redlock"
)

// A referee sees all buyers, which are in one process, and counts how many were at the stock
// at once. A buyer with a lock counts as long as the lock has validity left.
type referee struct {
	mu     sync.Mutex // guards what follows
	inside []*stay
	most   int // at once
}

// A stay is one buyer's time at the stock.
type stay struct{ ctx context.Context } //nolint:containedctx // it is asked whether it has ended

func (s *stay) valid() bool {
	if lock, ok := redlock.FromContext(s.ctx); ok {
		return lock.Remaining() > 0
	}
	return s.ctx.Err() == nil
}

// enter records that a buyer is at the stock, under the lock of ctx or under none, until leave is
// called. The buyer has to call leave before it unlocks.
func (r *referee) enter(ctx context.Context) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &stay{ctx}
	r.inside = append(r.inside, s)
	r.count()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.count() // finds a lock that was extended although it had expired
		r.inside = slices.DeleteFunc(r.inside, func(o *stay) bool { return o == s })
	}
}

// count counts the valid stays. The caller must hold mu. Expired validity does not come back: stays
// that are valid when they are read were all valid when the first was read.
func (r *referee) count() {
	valid := 0
	for _, s := range r.inside {
		if s.valid() {
			valid++
		}
	}
	r.most = max(r.most, valid)
}

func (r *referee) mostAtOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}
