package locks

import "time"

// Renewals tells from looks that follow each other which holds were renewed between
// them: those that end later than before on some master. The zero value is ready to
// use. It is for one goroutine.
type Renewals struct{ holds map[hold]*Watched }

// A hold is a token at a key.
type hold struct{ key, token string }

// Watched is what was seen of a hold over several looks.
type Watched struct {
	Since   time.Time // when it was seen first
	Renewed time.Time // it was seen to be renewed after this; zero: never
	asked   time.Time // of the last look
	ends    map[string]span
}

// A span has the instant at which a hold ends on a master. The time left was read at
// some moment between the question and the answer.
type span struct{ earliest, latest time.Time }

// Note compares a look with those before. What is gone is forgotten.
func (r *Renewals) Note(locks []Lock) {
	seen := make(map[hold]*Watched)
	for i := range locks {
		l := &locks[i]
		for j := range l.Masters {
			m := &l.Masters[j]
			if m.Held != nil && len(m.Readers) == 0 {
				r.watch(seen, l, m.Held.Token).note(l, m.Master, m.Held.TTL)
			}
			for _, reader := range m.Readers {
				r.watch(seen, l, reader.Token).note(l, m.Master, reader.TTL)
			}
		}
	}
	for h, w := range seen {
		if before := r.holds[h]; before != nil && w.endsLater(before) {
			w.Renewed = before.asked
		}
	}
	r.holds = seen
}

// watch is the record of a hold in this look.
func (r *Renewals) watch(seen map[hold]*Watched, l *Lock, token string) *Watched {
	h := hold{l.Key, token}
	w := seen[h]
	if w == nil {
		w = &Watched{Since: l.Asked, asked: l.Asked, ends: make(map[string]span)}
		if before := r.holds[h]; before != nil {
			w.Since, w.Renewed = before.Since, before.Renewed
		}
		seen[h] = w
	}
	return w
}

func (w *Watched) note(l *Lock, master string, left time.Duration) {
	w.ends[master] = span{l.Asked.Add(left), l.Answered.Add(left)}
}

// leastGrowth is for masters' clocks that do not run as this one.
const leastGrowth = 5 * time.Millisecond

// endsLater reports whether the hold certainly ends later than before on some master.
func (w *Watched) endsLater(before *Watched) bool {
	for master, now := range w.ends {
		if ended, known := before.ends[master]; known && now.earliest.Sub(ended.latest) > leastGrowth {
			return true
		}
	}
	return false
}

// Of is what was seen of a hold; nil: nothing.
func (r *Renewals) Of(key, token string) *Watched { return r.holds[hold{key, token}] }
