package real

import (
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// A recorder writes down the holds of several clients of one process, whose
// clock they share.
type recorder struct {
	start time.Time

	mu      sync.Mutex // guards what follows; no call into the library is made under it
	history history.History
	active  map[*redlock.Lock]*history.Hold
}

func newRecorder() *recorder {
	return &recorder{start: time.Now(), active: make(map[*redlock.Lock]*history.Hold)}
}

func (r *recorder) now() time.Duration { return time.Since(r.start) }

// believedUntil is at the earliest when the holder stops to believe in a lock.
func (r *recorder) believedUntil(l *redlock.Lock) time.Duration {
	now := r.now()
	return now + l.Remaining()
}

// granted notes a hold.
func (r *recorder) granted(l *redlock.Lock, client, op string, shared bool, asked time.Duration) *history.Hold {
	h := &history.Hold{
		Client: client, Op: op, Keys: l.Keys(), Shared: shared, Token: l.Token(), Fence: l.Fence(),
		Asked: asked, Granted: r.now(),
	}
	h.Until = r.believedUntil(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, h)
	r.active[l] = h
	return h
}

// renewed is the hook of a client's trace: all holds of the key are looked at.
func (r *recorder) renewed(info redlock.ExtendInfo) {
	r.mu.Lock()
	var locks []*redlock.Lock
	for l := range r.active {
		if slices.Contains(l.Keys(), info.Key) {
			locks = append(locks, l)
		}
	}
	r.mu.Unlock()
	for _, l := range locks {
		until := r.believedUntil(l)
		r.mu.Lock()
		if h := r.active[l]; h != nil && l.Remaining() > 0 {
			h.Until = max(h.Until, until)
		}
		r.mu.Unlock()
	}
}

// ended notes that the holder does not believe in the lock any more.
func (r *recorder) ended(l *redlock.Lock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.active[l]; h != nil {
		h.Ended = r.now()
		delete(r.active, l)
	}
}

// released notes that a release was confirmed.
func (r *recorder) released(h *history.Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.Released = r.now()
}

// all is the history, when nobody writes to it any more.
func (r *recorder) all() history.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history
}
