package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

const (
	// rowTTL is short enough to wait for, and long enough for renewals to go on while a fault is
	// made.
	rowTTL = 3 * time.Second
	// settleBound is how long a row waits for what must happen. It is generous: beyond it
	// something is broken, not slow.
	settleBound = 20 * time.Second
	// queueLife is after how long a queue expires that nobody uses.
	queueLife = 30 * time.Second
	// lateness is how late the machine may schedule a process.
	lateness = time.Second
)

// hotPrefix begins the keys that several clients want.
const hotPrefix = "hot:"

// A row is one fault and what must follow from it.
type row struct {
	fault  string
	expect string
	level  string // the guard's; "" is the library's default
	alone  bool   // it needs the whole machine: no other row runs beside it
	setup  setup
	run    func(r *run)
	others []others // tests that assert it instead of run
}

// A run is a row on its masters.
type run struct {
	*testing.T
	level    string
	m        *masters
	register *register
	history  *history
	children []*child
	specs    []spec

	away     map[int]bool // masters that do not answer
	troubled map[int]bool // masters that have had a fault
	stopped  map[int]bool // troubled ones that go on with what they had received
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
	memory      uint64        // how much a client may take, in bytes; 0: not checked
	twin        bool          // one server has two addresses, of which one is used
	// queues: a client may stay in a queue: it was killed, the master refused to remove it, or the
	// queue is a copy. The queue ends by its own expiry.
	queues bool
	// jumps: a master's clock is set, and the guard is the standard one, which then does not
	// promise exclusion (SAFETY: T0). A contended lock may have a bare majority, and the next
	// holder's majority may share that master alone with it.
	jumps bool
}

// start prepares everything except the clients. The error is an *unable if the row cannot run
// here.
func (r *run) start(s setup) error {
	m, err := startMasters(s)
	if err != nil {
		return err
	}
	r.m, r.history, r.away, r.litter = m, newHistory(), map[int]bool{}, lateness
	r.troubled, r.standstills = map[int]bool{}, map[instant]bool{}
	r.Cleanup(func() {
		if err := m.Close(); err != nil {
			r.Errorf("masters: %v", err)
		}
	})
	r.register = startRegister(r.T)
	return nil
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// steady starts the load of most rows: two clients, each with locks of its own whose latency
// counts, locks that both want, and one that is held all the time.
func (r *run) steady(change ...func(s *spec)) {
	r.Helper()
	for i := range 2 {
		s := spec{
			Seed: uint64(i + 1), TTL: rowTTL, Level: r.level, Fencing: true, URLs: r.m.URLs(), Register: r.register.listener.Addr().String(),
			Workers: []worker{
				{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:0", i)}, Pace: 10 * time.Millisecond},
				{Do: doOwn, Keys: []string{fmt.Sprintf("own:%d:1", i)}, Pace: 15 * time.Millisecond, Plain: true},
				{Do: doHot, Keys: []string{hotPrefix + "0", hotPrefix + "1"}, Pace: 10 * time.Millisecond, Hold: time.Millisecond},
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

// client starts one more client and waits until it is ready.
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

// progress waits until every worker with locks of its own has locked and unlocked n times,
// counting pairs that began after from. For every other worker that ends by itself it waits for
// one.
func (r *run) progress(from instant, n int) {
	r.Helper()
	behind := ""
	ok := r.history.await(settleBound, func() bool {
		for i, s := range r.specs {
			if r.children[i].Over || s.Idle {
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

// fault makes the fault. From then on the masters in away need not answer.
func (r *run) fault(makeIt func() error, away ...int) {
	r.Helper()
	for _, i := range away {
		r.away[i], r.troubled[i] = true, true
	}
	r.faultAt = now()
	r.must(makeIt())
	r.faultIn = now()
}

// heal ends the fault.
func (r *run) heal(endIt func() error) {
	r.Helper()
	r.healAt = now()
	r.must(endIt())
	r.backAt = now()
	clear(r.away)
}

// finish ends the clients and checks what must hold in every row.
func (r *run) finish() {
	r.Helper()
	for _, c := range r.children {
		if err := c.end(); err != nil {
			r.Error(err)
		}
		bye := r.byeOf(c.number)
		if !c.Killed && (bye.Kind == "" || bye.Failed != "") {
			r.Errorf("client %d at its end: %s", c.number, bye.Text)
		}
		if r.memory > 0 && bye.Memory > r.memory {
			r.Errorf("client %d took %d MiB, want %d at most", c.number, bye.Memory>>20, r.memory>>20)
		}
	}
	for _, d := range r.late() {
		r.Errorf("client %d: %s took %v (%s): want %v at most", d.client, d.Op, d.took(), d.Failed, r.specs[d.client].bound(d.Op))
	}
	for _, d := range r.history.operations(func(d done) bool { return d.Op == opContext }) {
		r.Errorf("client %d: %s", d.client, d.Text)
	}
	contended := 0
	for _, o := range r.history.overlaps() {
		if r.jumps && strings.HasPrefix(o, hotPrefix) {
			contended++
			continue
		}
		r.Errorf("two holders at a time: %s", o)
	}
	if contended > 0 {
		r.note = fmt.Sprintf("two holders of a contended lock, not promised otherwise: %d times", contended)
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

// wantNoKeys checks that masters that answer have no keys left.
func (r *run) wantNoKeys() {
	r.Helper()
	for ended := now(); ; time.Sleep(5 * time.Millisecond) {
		left, late := []string(nil), false
		for i := range r.m.URLs() {
			if r.away[i] {
				continue
			}
			if keys := r.keys(i); len(keys) > 0 {
				left = append(left, fmt.Sprintf("master %d: %v", i, keys))
				late = late || now() > r.cleanBy(i, ended)
			}
		}
		switch {
		case len(left) == 0:
			return
		case late:
			r.Errorf("left behind %v after the clients: %v", now().sub(ended), left)
			return
		}
	}
}

// cleanBy returns when a master must have no key any more, if the clients ended at ended. A
// release is kept for a TTL for a master that does not answer. A master that was stopped for
// longer may go on with an acquisition that it had received, and get no release. Then the key
// expires by its TTL, which begins there.
func (r *run) cleanBy(master int, ended instant) instant {
	by := ended.add(r.litter)
	if r.stopped[master] && r.backAt.sub(r.faultAt) > rowTTL {
		by = max(by, r.backAt.add(rowTTL+lateness))
	}
	return by
}

// keys returns the keys of a master that are there for locks or for waiters.
func (r *run) keys(i int) []string {
	r.Helper()
	names, err := redis.Strings(r.m.Do(i, "KEYS", "*"))
	if err != nil {
		r.Errorf("master %d: %v", i, err)
	}
	return slices.DeleteFunc(names, func(key string) bool {
		if r.queues && strings.HasPrefix(key, "redquorum:q:") {
			left, err := redis.Int64(r.m.Do(i, "PTTL", key))
			return err == nil && left != -1 && left <= queueLife.Milliseconds()
		}
		return kept(key)
	})
}

// tryRow runs a row, and adds its result to the table.
func tryRow(t *testing.T, w row) {
	r := &run{T: t, level: w.level}
	entry := table.entry(w)
	t.Cleanup(func() {
		if t.Failed() {
			entry.became("FAILED")
		}
	})
	var cannot *unable
	if err := r.start(w.setup); errors.As(err, &cannot) {
		if _, lacks := errors.AsType[redistest.MissingError](err); requireRedis && !lacks {
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
	entry.measured(r.worst, r.bound(), r.healed, r.note)
	entry.became("held")
}
