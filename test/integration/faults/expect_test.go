package faults

import (
	"slices"
	"time"
)

// during selects the operations during the fault on locks that nobody else uses.
func (r *run) during() []done {
	return r.settleExcuses(r.history.operations(func(d done) bool {
		return !r.specs[d.client].Stranger && !r.contended(d) && d.Op != opWait && d.End > r.faultAt && (r.healAt == 0 || d.At < r.healAt)
	}))
}

// awaitOps waits until n selected operations have ended, and returns them.
func (r *run) awaitOps(n int, which func(done) bool) (ops []done) {
	r.Helper()
	if !r.history.await(settleBound, func() bool {
		ops = r.history.selected(which)
		return len(ops) >= n
	}) {
		r.Fatalf("%d operations within %v, want %d: %+v", len(ops), settleBound, n, ops)
	}
	return ops
}

// of selects the operations of a client.
func of(client int) func(done) bool { return func(d done) bool { return d.client == client } }

// goesOn fails if an operation failed after the fault. Two failures of a contended lock's release
// are excepted. Masters that are away may have some of its votes: then the others alone cannot
// confirm the release. And if a master with a fault has forgotten its vote, no majority has kept
// the lock.
func (r *run) goesOn() {
	r.Helper()
	failed := r.history.operations(func(d done) bool {
		unconfirmed := d.Op == opUnlock && d.Failed == failedNoQuorum && r.contended(d)
		forgotten := d.Op == opUnlock && d.Failed == failedLost && r.contended(d) && len(r.troubled) > 0
		return d.Failed != "" && d.End > r.faultAt && !unconfirmed && !forgotten && !r.specs[d.client].Stranger
	})
	failed = r.settleExcuses(failed)
	for i, d := range failed {
		if i == 3 {
			r.Errorf("and %d more", len(failed)-i)
			break
		}
		r.Errorf("client %d: %s failed %v after the fault, after %v: %s", d.client, d.Op, d.At.sub(r.faultAt), d.took(), d.Text)
	}
	for _, h := range r.history.lost() {
		r.Errorf("client %d lost %v: %s", h.client, h.keys, h.why)
	}
}

// contended reports whether an operation is about a lock that others want, too.
func (r *run) contended(d done) bool {
	switch r.specs[d.client].Workers[d.Worker].Do {
	case doOwn, doHold, doMany:
		return false
	}
	return true
}

// quick checks that the masters that answer have decided the operations: the timeout of a master
// is half a second. One in ten may be late, because the machine is shared, but not the first of
// most workers.
func (r *run) quick() {
	r.Helper()
	first := map[doer]time.Duration{}
	var all []time.Duration
	late := 0
	for _, d := range r.during() {
		all = append(all, d.took())
		if d.took() > commandTimeout/2 {
			late++
		}
		if by := (doer{d.client, d.Worker, d.Op}); d.Op == opLock && d.At > r.faultIn && first[by] == 0 {
			first[by] = d.took()
		}
	}
	if len(all) == 0 || len(first) == 0 {
		r.Error("no operation was tried during the fault")
		return
	}
	slices.Sort(all)
	if median := all[len(all)/2]; median > commandTimeout/10 || late > len(all)/10 {
		r.Errorf("median %v, and %d of %d took more than %v: want a median below %v, as with all masters",
			median, late, len(all), commandTimeout/2, commandTimeout/10)
	}
	slow := 0
	for _, d := range first {
		if d > commandTimeout/2 {
			slow++
		}
	}
	if slow > len(first)/2 {
		r.Errorf("the first attempts after the fault took %v", first)
	}
}

// unfelt makes all checks for a fault that clients must not notice.
func (r *run) unfelt() {
	r.Helper()
	r.goesOn()
	r.quick()
	r.bounded()
}

// bounded notes the longest operation. The end of every row checks that each was within its bound.
func (r *run) bounded() {
	r.Helper()
	for _, d := range r.during() {
		if d.took() > r.worst {
			r.worst = d.took()
			r.Logf("slowest so far: client %d, %s, %v, begun %v after the fault", d.client, d.Op, d.took(), d.At.sub(r.faultAt))
		}
	}
}

// bound returns how long a client's operation may take: the timeout for one master, or the limit
// of a waiting call, and in addition what a shared machine may take.
func (s *spec) bound(op string) time.Duration {
	switch {
	case op == opWait:
		return waitBound + lateness
	case s.Timeout != 0:
		return s.Timeout + lateness
	default:
		return commandTimeout + lateness
	}
}

// bound returns the bound of the operations whose latency counts: the greatest of a row's clients.
func (r *run) bound() (most time.Duration) {
	for i := range r.specs {
		most = max(most, r.specs[i].bound(opLock))
	}
	return most
}

// late returns the operations that took longer than their bound, except those of clients that were
// stopped and of other libraries.
func (r *run) late() []done {
	return r.settleExcuses(r.history.operations(func(d done) bool {
		return d.Op != opAct && d.Op != opMany && d.Do != doForeign && !r.children[d.client].stopped && d.took() > r.specs[d.client].bound(d.Op)
	}))
}

// noteWorst notes the longest of the selected operations during the fault.
func (r *run) noteWorst(which func(done) bool) {
	for _, d := range r.during() {
		if which(d) {
			r.worst = max(r.worst, d.took())
		}
	}
}

// outage waits until every client has been refused and has lost its lock, and checks their errors.
func (r *run) outage(causes int) {
	r.Helper()
	const refusals = 5
	refused := func(client, w int) int {
		return len(r.history.selected(func(o done) bool {
			return o.client == client && o.Worker == w && o.Op == opLock && o.Failed != "" && o.At > r.faultIn
		}))
	}
	ok := r.history.await(settleBound, func() bool {
		for i, s := range r.specs {
			for w, job := range s.Workers {
				if job.Do == doOwn && refused(i, w) < refusals {
					return false
				}
			}
		}
		for _, h := range r.history.holds {
			if h.to == 0 {
				return false
			}
		}
		return true
	})
	if !ok {
		r.Fatalf("within %v not everybody was refused, or told that the lock is lost", settleBound)
	}
	tried := r.history.operations(func(d done) bool { return d.Op == opLock && d.At > r.faultIn })
	for _, d := range tried {
		if d.Failed != failedNoQuorum || d.Causes < causes {
			r.Errorf("client %d was told %q with %d causes, want %q with %d: %s",
				d.client, d.Failed, d.Causes, failedNoQuorum, causes, d.Text)
			break
		}
	}
	lost := r.history.lost()
	if len(lost) < len(r.specs) {
		r.Errorf("%d locks were lost, want that of each client at least", len(lost))
	}
	for _, h := range lost {
		if late := h.noticed.sub(h.until); late > lateness {
			r.Errorf("client %d noticed %v after the validity that it lost %v", h.client, late, h.keys)
		}
		if after := h.until.sub(r.faultIn); after > rowTTL {
			r.Errorf("client %d relied on %v for %v after the outage began, want %v at most", h.client, h.keys, after, rowTTL)
		}
	}
}

// onlyLostBy fails if another client lost a lock, if this one lost none, or if it noticed more
// than lateness after from.
func (r *run) onlyLostBy(client int, from instant) {
	r.Helper()
	lost := r.history.lost()
	for _, h := range lost {
		if h.client != client {
			r.Errorf("nothing was done to client %d, and it lost %v: %s", h.client, h.keys, h.why)
		}
		if late := h.noticed.sub(from); from != 0 && (late < 0 || late > lateness) {
			r.Errorf("%v was lost %v after the fault", h.keys, late)
		}
	}
	if len(lost) == 0 {
		r.Errorf("client %d has lost nothing", client)
	}
}
