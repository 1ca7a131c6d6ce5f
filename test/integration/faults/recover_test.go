package faults

import "slices"

// recovers waits until every client has had a lock again, and with all until every master is used
// again. It notes how long that took.
func (r *run) recovers(all bool) {
	r.Helper()
	r.progress(now(), 1)
	for i, s := range r.specs {
		for w, job := range s.Workers {
			if job.Do != doOwn || r.children[i].Over || s.Idle {
				continue
			}
			if !r.history.await(settleBound, func() bool {
				locked := r.history.good[doer{i, w, opLock}]
				first, _ := slices.BinarySearch(locked, r.healAt)
				if first < len(locked) {
					r.backBy(locked[first])
				}
				return first < len(locked)
			}) {
				r.Fatalf("client %d had no lock within %v", i, settleBound)
			}
		}
	}
	if all {
		r.allUsable()
	}
}

// backBy notes that the recovery has taken until t. It counts from when the masters answered:
// clients that were faster than that recovered at once.
func (r *run) backBy(t instant) { r.healed = max(r.healed, t.sub(r.backAt), 1) }

// allUsable waits until every client can use every master, and notes when that was.
func (r *run) allUsable() {
	r.Helper()
	full := r.awaitUsable()
	r.history.mu.Lock()
	defer r.history.mu.Unlock()
	for _, change := range r.history.changes {
		if change.usable == full && change.at > r.healAt {
			r.backBy(change.at)
		}
	}
}

// awaitUsable waits until every client can use every master. full has a bit for each master.
func (r *run) awaitUsable() (full uint64) {
	r.Helper()
	full = uint64(1)<<len(r.m.URLs()) - 1
	if !r.history.await(settleBound, func() bool {
		for i, c := range r.children {
			if !c.Over && !r.specs[i].Stranger && r.history.usable[i] != full {
				return false
			}
		}
		return true
	}) {
		r.Fatalf("within %v not every client could use every master: %b", settleBound, r.history.usable)
	}
	return full
}
