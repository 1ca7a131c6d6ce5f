package locks

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/observe"
)

// The load on a master. A step of StepKeys keeps it busy for some tenths of a millisecond.
const (
	StepKeys  = 100                  // of SCAN; a few more where a bucket of its table is full
	Pause     = 2 * time.Millisecond // between steps
	StepBound = time.Second          // a master that takes longer is searched no further
	MostNames = 100_000              // of keys that may be locks
)

// A Survey is what one look at the fleet has found.
type Survey struct {
	Locks   []Lock // by key
	Masters []Search
	Took    time.Duration
	// Cut: not every key that may be a lock was asked about, because the time was over or
	// there were more than MostNames.
	Cut bool
}

// Searched returns how many masters were searched to the end.
func (s *Survey) Searched() (n int) {
	for i := range s.Masters {
		if s.Masters[i].err == nil {
			n++
		}
	}
	return n
}

// Find looks for locks whose keys match a pattern of SCAN. When ctx ends it returns what it
// has found by then. masters are the masters of inspector.
func Find(
	ctx context.Context, masters []*observe.Master, inspector observe.Inspector, pattern string,
) (*Survey, error) {
	began := time.Now()
	s := &Survey{}
	searching, cancel := context.WithCancel(ctx)
	if end, ok := ctx.Deadline(); ok { // the last quarter is for the questions about what was found
		searching, cancel = context.WithDeadline(ctx, began.Add(end.Sub(began)*3/4))
	}
	var names []string
	names, s.Masters, s.Cut = search(searching, masters, pattern)
	cancel()
	cut, err := s.look(ctx, masters, inspector, names)
	s.Cut = s.Cut || cut
	s.Took = time.Since(began)
	return s, err
}
