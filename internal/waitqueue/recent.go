package waitqueue

import (
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
)

// recent remembers for a moment which keys this client had to wait for. A call for such a
// key asks the pilot first. Asking all masters would mostly fail. Between a release and its
// hand-over it would also take votes from the client whose turn it is. recent is a hint: keys
// may share an entry, and a wrong hint costs a round trip. It is safe for concurrent use.
type recent struct {
	since   time.Time
	entries [256]atomic.Int64 // until when each is remembered, in ns after since; 0: not
}

// recentFor is how long recent remembers a key.
const recentFor = time.Second

func (r *recent) entry(key string) *atomic.Int64 {
	return &r.entries[chance.Mix(chance.HashText(key))%uint64(len(r.entries))]
}

// has reports whether calls waited for the key lately.
func (r *recent) has(key string) bool {
	until := r.entry(key).Load()
	return until != 0 && int64(time.Since(r.since)) < until
}

// note notes whether a call had to wait for the key.
func (r *recent) note(key string, waited bool) {
	until := int64(0)
	if waited {
		until = int64(time.Since(r.since) + recentFor)
	}
	r.entry(key).Store(until)
}

// among returns the key to wait for: the first that calls waited for lately, or the first of all.
func (r *recent) among(w *Options) (key string, lately bool) {
	for _, k := range w.Keys {
		if r.has(k) {
			return k, true
		}
	}
	return w.key(), false
}
