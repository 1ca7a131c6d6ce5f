package stage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A hold is what the referee looks at; a *redlock.Lock is one.
type hold interface {
	Remaining() time.Duration
	Fence() uint64
}

// A belief is the hold of one who has no lock, and may believe to be alone as long as a context lasts.
type belief struct{ context.Context }

func (b belief) Remaining() time.Duration {
	if b.Err() != nil {
		return 0
	}
	return time.Hour
}

func (belief) Fence() uint64 { return 0 }

// A stay is one contender's time with the lock.
type stay struct {
	who      string
	lock     hold
	overlaps []*stay // told of already
}

// A Referee checks that no two holders have validity left at once, and that
// fencing tokens rise. It sees all contenders, for they are in one process.
type Referee struct {
	Tell func(violation string) // nil: nobody is told

	mu     sync.Mutex // guards what follows
	inside []*stay
	token  uint64 // the highest so far
	counts CheckCounts
}

// CheckCounts are what the check has seen.
type CheckCounts struct {
	Holds        int `json:"holds"`         // that it was told of
	Looks        int `json:"looks"`         // at who holds the lock
	Overlaps     int `json:"overlaps"`      // two who held it at once
	Tokens       int `json:"tokens"`        // fencing tokens; 0 where there are none
	TokensFallen int `json:"tokens_fallen"` // not above the one before
	Most         int `json:"-"`             // who held it at once
}

// Broken reports whether anything was seen that must not be.
func (c CheckCounts) Broken() bool { return c.Overlaps > 0 || c.TokensFallen > 0 }

// Enter tells that who has the lock that ctx was made under, from now on until leave is called, which is before the
// unlock: all that time who is a holder whenever validity remains.
func (r *Referee) Enter(ctx context.Context, who string) (leave func()) {
	var h hold = belief{ctx}
	if lock, ok := redlock.FromContext(ctx); ok {
		h = lock
	}
	s := r.enter(who, h)
	return func() { r.leave(s) }
}

func (r *Referee) enter(who string, lock hold) *stay {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &stay{who: who, lock: lock}
	r.counts.Holds++
	r.inside = append(r.inside, s)
	r.compare()
	if f := lock.Fence(); f != 0 && lock.Remaining() > 0 {
		r.counts.Tokens++
		if f <= r.token {
			r.counts.TokensFallen++
			r.tell(fmt.Sprintf("%s has fencing token %d, after %d", who, f, r.token))
		}
		r.token = max(r.token, f)
	}
	return s
}

func (r *Referee) leave(s *stay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compare()
	r.inside = slices.DeleteFunc(r.inside, func(o *stay) bool { return o == s })
}

// Look compares all holders now.
func (r *Referee) Look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compare()
}

// compare tells of pairs of which both have validity left. The caller must hold
// mu. What is read a moment later can have expired only, and validity that has
// run out does not come back: both were valid when the first was read.
func (r *Referee) compare() {
	r.counts.Looks++
	var valid []*stay
	for _, s := range r.inside {
		if s.lock.Remaining() > 0 {
			valid = append(valid, s)
		}
	}
	r.counts.Most = max(r.counts.Most, len(valid))
	for i, s := range valid {
		for _, o := range valid[:i] {
			if !slices.Contains(s.overlaps, o) {
				s.overlaps = append(s.overlaps, o)
				r.counts.Overlaps++
				r.tell(fmt.Sprintf("%s and %s hold the lock at once", o.who, s.who))
			}
		}
	}
}

// Holder is who has the most validity left, and how much.
func (r *Referee) Holder() (who string, left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.inside {
		if d := s.lock.Remaining(); d > left {
			who, left = s.who, d
		}
	}
	return who, left
}

func (r *Referee) tell(violation string) {
	if r.Tell != nil {
		r.Tell(violation)
	}
}

// Count is what the check has seen so far.
func (r *Referee) Count() CheckCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
