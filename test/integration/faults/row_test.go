package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// rowTTL is short enough to wait for it, and long enough for an engine to
	// take its time while renewals go on.
	rowTTL = 3 * time.Second
	// settleBound is how long is waited for what must happen. It is generous:
	// who reaches it has met something that is broken, not slow.
	settleBound = 20 * time.Second
	// lateness is how late the machine may give a process its turn.
	lateness = time.Second
)

// A row is one fault and what must follow from it.
type row struct {
	fault  string
	expect string
	on     []kind
	level  string // of the guard; "" is the library's default
	setup  setup
	run    func(r *run)
	dir    string   // where other tests assert it,
	tests  []string // and which
}

// A run is a row on one kind of masters.
type run struct {
	*testing.T
	on       kind
	level    string
	m        masters
	register *register
	history  *history
	children []*child
	specs    []spec

	away     map[int]bool // masters that do not answer
	troubled map[int]bool // masters that something was done to
	// standstills are the ends of operations that are excused (see pulse).
	standstills map[instant]bool
	faultAt     instant // when the fault began
	faultIn     instant // when it was complete
	healAt      instant // when its end began; 0: not yet
	backAt      instant // when the masters answered again
	worst       time.Duration
	healed      time.Duration // how long the recovery took, 0: not measured
	litter      time.Duration // how long keys may stay behind
	note        string        // for the table
	twin        bool          // one server has two addresses, of which one is used
	crashed     bool          // a client was killed, perhaps while it waited for a lock
}

// start gets everything ready but the clients. It is false where the row cannot
// run here.
func (r *run) start(s setup) error {
	m, err := startMasters(r.on, s)
	if err != nil {
		return err
	}
	r.m, r.history, r.away, r.litter = m, newHistory(), map[int]bool{}, lateness
	r.troubled, r.standstills = map[int]bool{}, map[instant]bool{}
	r.Cleanup(func() {
		if err := m.close(); err != nil {
			r.Errorf("masters: %v", err)
		}
	})
	r.register = startRegister(r.T)
	return nil
}

// must fails the row.
func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// steady is the load of most rows: two clients, each with locks of its own whose
// latency counts, locks that both want, and one that is held all the time.
func (r *run) steady(change ...func(s *spec)) {
	r.Helper()
	for i := range 2 {
		s := spec{
			Seed: uint64(i + 1), TTL: rowTTL, Level: r.level, Fencing: fencing(), URLs: r.m.urls(), Register: r.register.listener.Addr().String(),
			Workers: []worker{
				{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:0", i)}, Pace: 10 * time.Millisecond},
				{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:1", i)}, Pace: 15 * time.Millisecond, Plain: true},
				{Do: doHot, Keys: []string{"hot:0", "hot:1"}, Pace: 10 * time.Millisecond, Hold: time.Millisecond},
				{Do: doHold, Keys: []string{fmt.Sprintf("held:%d", i)}, Pace: 50 * time.Millisecond, Hold: time.Hour},
			},
		}
		for _, f := range change {
			f(&s)
		}
		r.client(s)
	}
	r.progress(now(), 3)
	if !r.twin {
		r.awaitUsable()
	}
}

// client starts one more client and waits until it is there.
func (r *run) client(s spec) *child {
	r.Helper()
	c := startChild(r.T, len(r.children), s, r.history)
	r.children, r.specs = append(r.children, c), append(r.specs, s)
	if !r.history.await(settleBound, func() bool { return r.history.ready[c.number] || r.history.byes[c.number].Text != "" }) {
		r.Fatalf("client %d was not ready within %v", c.number, settleBound)
	}
	if bye := r.byeOf(c.number); bye.Text != "" {
		r.Fatalf("client %d: %s", c.number, bye.Text)
	}
	return c
}

func (r *run) byeOf(client int) event {
	r.history.mu.Lock()
	defer r.history.mu.Unlock()
	return r.history.byes[client]
}

// progress waits until every worker with locks of its own has locked and
// unlocked n times that began after from, and every other worker that comes to
// an end by itself once.
func (r *run) progress(from instant, n int) {
	r.Helper()
	behind := ""
	ok := r.history.await(settleBound, func() bool {
		for i, s := range r.specs {
			if r.children[i].waited || s.Idle {
				continue
			}
			for w, job := range s.Workers {
				want, op := 1, opWait
				switch job.Do {
				case doOwn:
					want, op = n, opUnlock
				case doHold, doPaused, doMany:
					continue
				}
				if got := r.history.since(from, doer{i, w, op}); got < want {
					behind = fmt.Sprintf("client %d, worker %d (%s): %d of %d", i, w, job.Do, got, want)
					return false
				}
			}
		}
		return true
	})
	if !ok {
		r.Fatalf("no progress within %v: %s; the last failures: %s", settleBound, behind, r.lastFailures(from))
	}
}

func (r *run) lastFailures(from instant) string {
	failed := r.history.operations(func(d done) bool { return d.Failed != "" && d.At >= from })
	if len(failed) == 0 {
		return "none"
	}
	var texts []string
	for _, f := range failed[max(0, len(failed)-3):] {
		texts = append(texts, fmt.Sprintf("client %d %s: %s", f.client, f.Op, f.Text))
	}
	return strings.Join(texts, "; ")
}

// fault makes the fault, of which some masters may not answer from then on.
func (r *run) fault(makeIt func() error, away ...int) {
	r.Helper()
	for _, i := range away {
		r.away[i], r.troubled[i] = true, true
	}
	r.faultAt = now()
	r.must(makeIt())
	r.faultIn = now()
}

// heal ends it.
func (r *run) heal(endIt func() error) {
	r.Helper()
	r.healAt = now()
	r.must(endIt())
	r.backAt = now()
	clear(r.away)
}

// during selects the operations of the fault on locks that nobody else uses.
func (r *run) during() []done {
	return r.settleExcuses(r.history.operations(func(d done) bool {
		return !r.specs[d.client].Stranger && !r.contended(d) && d.Op != opWait && d.End > r.faultAt && (r.healAt == 0 || d.At < r.healAt)
	}))
}

// goesOn asks that nothing has failed since the fault. Of a lock that is
// contended the masters that go on may have given too few votes for its release
// to be confirmed by them alone.
func (r *run) goesOn() {
	r.Helper()
	failed := r.history.operations(func(d done) bool {
		unconfirmed := d.Op == opUnlock && d.Failed == failedNoQuorum && r.contended(d)
		return d.Failed != "" && d.End > r.faultAt && !unconfirmed && !r.specs[d.client].Stranger
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

// contended says whether an operation is about a lock that others want, too.
func (r *run) contended(d done) bool {
	switch r.specs[d.client].Workers[d.Worker].Do {
	case doOwn, doHold, doMany:
		return false
	}
	return true
}

// quick asks that operations were decided by the masters that answer: who waits
// for the timeout of a master takes half a second. One in ten may be late, for
// the machine is shared; the first of most workers may not.
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
		if who := (doer{d.client, d.Worker, d.Op}); d.Op == opLock && d.At > r.faultIn && first[who] == 0 {
			first[who] = d.took()
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

// bounded asks that every operation came to its end within the timeout of a
// master, and notes the longest.
func (r *run) bounded() {
	r.Helper()
	for _, d := range r.during() {
		if d.took() > r.worst {
			r.worst = d.took()
			r.Logf("slowest so far: client %d, %s, %v, begun %v after the fault", d.client, d.Op, d.took(), d.At.sub(r.faultAt))
		}
		if d.took() > commandTimeout+lateness {
			r.Errorf("client %d: %s took %v (%s): want %v and little more", d.client, d.Op, d.took(), d.Failed, commandTimeout)
		}
	}
}

// noteWorst notes the longest of some operations of the fault.
func (r *run) noteWorst(which func(done) bool) {
	for _, d := range r.during() {
		if which(d) {
			r.worst = max(r.worst, d.took())
		}
	}
}

// outage waits until everybody has been refused, and lost what was held, and
// asks how they were told.
func (r *run) outage(causes int) {
	r.Helper()
	const refusals = 5
	refused := func(client, w int) (n int) {
		for _, o := range r.history.ops {
			if o.client == client && o.Worker == w && o.Op == opLock && o.Failed != "" && o.At > r.faultIn {
				n++
			}
		}
		return n
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

// recovers waits until everybody has had a lock again, and notes how long that
// took; with all until every master is used again.
func (r *run) recovers(all bool) {
	r.Helper()
	r.progress(now(), 1)
	for i, s := range r.specs {
		for w, job := range s.Workers {
			if job.Do != doOwn || r.children[i].waited || s.Idle {
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

// backBy notes that the recovery has taken until t. It counts from when the
// masters answered, and is over sooner where the clients were faster than that.
func (r *run) backBy(t instant) { r.healed = max(r.healed, t.sub(r.backAt), 1) }

// allUsable waits until every client can use every master, and notes when that
// was.
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

// awaitUsable waits until every client can use every master, of which full has a
// bit each.
func (r *run) awaitUsable() (full uint64) {
	r.Helper()
	full = uint64(1)<<len(r.m.urls()) - 1
	if !r.history.await(settleBound, func() bool {
		for i, c := range r.children {
			if !c.waited && !r.specs[i].Stranger && r.history.usable[i] != full {
				return false
			}
		}
		return true
	}) {
		r.Fatalf("within %v not every client could use every master: %b", settleBound, r.history.usable)
	}
	return full
}

// finish ends the clients and asks what must hold in every row.
func (r *run) finish() {
	r.Helper()
	for _, c := range r.children {
		if err := c.end(); err != nil {
			r.Error(err)
		}
		if bye := r.byeOf(c.number); !c.killed && (bye.Kind == "" || bye.Failed != "") {
			r.Errorf("client %d at its end: %s", c.number, bye.Text)
		}
	}
	for _, o := range r.history.overlaps() {
		r.Errorf("two holders at a time: %s", o)
	}
	for _, f := range r.history.fallen() {
		r.Errorf("fencing tokens do not rise: %s", f)
	}
	if r.register != nil {
		if lost, writes := r.register.lost(); lost != 0 {
			r.Errorf("%d of %d updates under the locks are lost", lost, writes)
		}
	}
	if !r.Failed() {
		r.wantNoKeys()
	}
}

// wantNoKeys asks the masters that answer for what was left behind.
func (r *run) wantNoKeys() {
	r.Helper()
	var left []string
	for deadline := time.Now().Add(r.litter); ; time.Sleep(5 * time.Millisecond) {
		left = nil
		for i := range r.m.urls() {
			if !r.away[i] {
				left = append(left, r.keys(i)...)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	r.Errorf("left behind %v after the clients: %v", r.litter, left)
}

// keys are the keys of a master that are there for a lock or for who waits for
// one.
func (r *run) keys(i int) []string {
	r.Helper()
	names, err := redis.Strings(r.m.do(i, "KEYS", "*"))
	if err != nil {
		r.Errorf("master %d: %v", i, err)
	}
	return slices.DeleteFunc(names, func(key string) bool {
		// A queue in which nobody waits any more ends by its own expiry.
		return kept(key) || r.crashed && strings.HasPrefix(key, "redquorum:q:")
	})
}

// tryRow runs a row on one kind of masters, and adds what became of it to the
// table.
func tryRow(t *testing.T, w row, k kind) {
	r := &run{T: t, on: k, level: w.level}
	entry := table.entry(w, k)
	t.Cleanup(func() {
		if t.Failed() {
			entry.became("FAILED")
		}
	})
	if err := offers(w.level); err != nil {
		entry.became("did not run: " + err.Error())
		t.Skip(err)
	}
	var cannot *unable
	if err := r.start(w.setup); errors.As(err, &cannot) {
		if k == processes && requireRedis {
			t.Fatal(err)
		}
		entry.became("did not run: " + cannot.Error())
		t.Skip(cannot)
	} else if err != nil {
		t.Fatal(err)
	}
	w.run(r)
	r.finish()
	if n := len(r.standstills); n > 0 {
		r.note = strings.TrimPrefix(fmt.Sprintf("%s; excused: %d", r.note, n), "; ")
	}
	entry.measured(r.worst, r.healed, r.note)
	entry.became("held")
}
