package demo

import (
	"context"
	"slices"
	"sync"

	"github.com/redquorum/redquorum/redlock"
)

// A referee sees all buyers, for they are in one process, and counts how many were at the
// stock at once. Who came with a lock counts as long as it has validity left.
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

// enter tells that somebody is at the stock, under the lock that ctx was made with or under none, from now on until
// leave is called, which is before the unlock.
func (r *referee) enter(ctx context.Context) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &stay{ctx}
	r.inside = append(r.inside, s)
	r.count()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.count() // a lock may have been extended although it was over
		r.inside = slices.DeleteFunc(r.inside, func(o *stay) bool { return o == s })
	}
}

// count looks at all. The caller must hold mu. What is read a moment later can have expired only, and validity that has
// run out does not come back: all were valid when the first was read.
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
