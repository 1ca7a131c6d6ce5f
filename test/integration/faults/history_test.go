package faults

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A history has what the clients of a row have reported.
type history struct {
	mu      sync.Mutex // guards what follows
	ops     []done
	total   map[string]int     // operations by Op
	locked  map[string]int     // acquisitions by Do
	good    map[doer][]instant // when each worker's successful operations began
	holds   map[string]*held   // by client and token
	usable  map[int]uint64     // the masters that each client can use
	slow    []slow
	clocks  map[int][]string // what each client has reported of masters' clocks
	changes []change         // changes of usable
	ready   map[int]bool
	byes    map[int]event
	waiters []chan struct{}
}

// A doer is a worker, doing one kind of thing.
type doer struct {
	client, worker int
	op             string
}

// done is an operation that has ended.
type done struct {
	client int
	event
}

func (d done) took() time.Duration { return d.End.sub(d.At) }

// held is the time during which a holder relied on its lock.
type held struct {
	client  int
	token   string
	keys    []string
	shared  bool
	from    instant
	until   instant // it was valid at least until then, as last reported
	to      instant // the end, 0: none was reported
	fence   uint64
	lost    bool
	why     string
	noticed instant // when the holder reported the end
}

// end returns until when the holder relies on the lock. If no end was reported, the client was
// killed, and its lock is good until it expires.
func (h *held) end() instant {
	if h.to != 0 {
		return h.to
	}
	return h.until
}

type change struct {
	client int
	at     instant
	usable uint64
	whys   []string
}

func newHistory() *history {
	return &history{total: map[string]int{}, locked: map[string]int{}, good: map[doer][]instant{}, holds: map[string]*held{}, usable: map[int]uint64{}, clocks: map[int][]string{}, ready: map[int]bool{}, byes: map[int]event{}}
}

func (h *history) add(client int, e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := fmt.Sprint(client, " ", e.Hold)
	switch e.Kind {
	case eventReady:
		h.ready[client] = true
	case eventBye:
		h.byes[client] = e
	case eventOp:
		h.ops = append(h.ops, done{client, e})
		h.total[e.Op]++
		if e.Failed == "" {
			by := doer{client, e.Worker, e.Op}
			h.good[by] = append(h.good[by], e.At)
			if e.Op == opLock || e.Op == opWait {
				h.locked[e.Do]++
			}
		}
	case eventSlow:
		h.slow = append(h.slow, slow{client, e.Worker, e.At, e.End})
	case eventClock:
		h.clocks[client] = append(h.clocks[client], e.Text)
	case eventMasters:
		h.usable[client] = e.Usable
		h.changes = append(h.changes, change{client, e.At, e.Usable, e.Whys})
	case eventGrant:
		h.holds[name] = &held{
			client: client, token: e.Hold, keys: e.Keys, shared: e.Shared,
			from: e.At, until: e.Until, fence: e.Fence,
		}
	case eventUntil:
		if hold := h.holds[name]; hold != nil {
			hold.until = max(hold.until, e.Until)
		}
	case eventEnd:
		if hold := h.holds[name]; hold != nil {
			hold.to, hold.lost, hold.why, hold.noticed = max(e.At, hold.from), e.Failed != "", e.Text, e.End
		}
	}
	for _, w := range h.waiters {
		close(w)
	}
	h.waiters = nil
}

// since counts a worker's operations that succeeded and began after from. The
// history must be locked.
func (h *history) since(from instant, by doer) (n int) {
	began := h.good[by] // in order
	for n < len(began) && began[len(began)-1-n] >= from {
		n++
	}
	return n
}

// changed returns a channel that is closed when something is added.
func (h *history) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(chan struct{})
	h.waiters = append(h.waiters, w)
	return w
}

// await waits until the condition holds, and reports whether it did within bound. It calls
// condition with the history locked.
func (h *history) await(bound time.Duration, condition func() bool) bool {
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	for {
		changed := h.changed()
		h.mu.Lock()
		ok := condition()
		h.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
			time.Sleep(lookEvery) // the next event comes soon
		case <-deadline.C:
			return false
		}
	}
}

// selected returns the operations that have ended and that which accepts. The history must be
// locked.
func (h *history) selected(which func(done) bool) (ops []done) {
	for _, o := range h.ops {
		if which(o) {
			ops = append(ops, o)
		}
	}
	return ops
}

// operations returns the same in the order of their beginning. The history must not be locked.
func (h *history) operations(which func(done) bool) []done {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := h.selected(which)
	slices.SortFunc(ops, func(a, b done) int { return cmp.Compare(a.At, b.At) })
	return ops
}

// byKey returns the holds of each key in the order of their beginning.
func (h *history) byKey() map[string][]*held {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := map[string][]*held{}
	for _, hold := range h.holds {
		if hold.until <= hold.from { // over when reported (see hold.begin): nobody relied on it, its order is unknown
			continue
		}
		seen := *hold // it may still change
		for _, key := range hold.keys {
			keys[key] = append(keys[key], &seen)
		}
	}
	for _, holds := range keys {
		slices.SortFunc(holds, func(a, b *held) int { return cmp.Compare(a.from, b.from) })
	}
	return keys
}

// overlaps finds the pairs of holds of one key, at least one of them exclusive, that overlap in
// time.
func (h *history) overlaps() []string {
	var found []string
	for key, holds := range h.byKey() {
		var exclusive, either *held // the one so far that ends last
		for _, hold := range holds {
			against := exclusive
			if !hold.shared {
				against = either
			}
			if against != nil && hold.from < against.end() {
				found = append(found, fmt.Sprintf("%s: client %d held it until %v after client %d got it (%s, %s)",
					key, against.client, against.end().sub(hold.from), hold.client, against.token, hold.token))
			}
			if either == nil || hold.end() > either.end() {
				either = hold
			}
			if !hold.shared && (exclusive == nil || hold.end() > exclusive.end()) {
				exclusive = hold
			}
		}
	}
	return found
}

// fallen finds the pairs of successive exclusive holds of a key whose fencing tokens did not rise.
// It ignores holds without tokens.
func (h *history) fallen() []string {
	var found []string
	for key, holds := range h.byKey() {
		var last *held
		for _, hold := range holds {
			if hold.shared || hold.fence == 0 {
				continue
			}
			if last != nil && hold.fence <= last.fence {
				found = append(found, fmt.Sprintf("%s: the token of client %d is %d, after %d of client %d, which got it %v before; they relied on it for %v and %v, and it was valid for %v and %v",
					key, hold.client, hold.fence, last.fence, last.client, hold.from.sub(last.from),
					hold.end().sub(hold.from), last.end().sub(last.from), hold.until.sub(hold.from), last.until.sub(last.from)))
			}
			last = hold
		}
	}
	return found
}

func (h *history) lost() (lost []*held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hold := range h.holds {
		if hold.lost {
			seen := *hold
			lost = append(lost, &seen)
		}
	}
	return lost
}

// awaitHold waits for a hold that which accepts.
func (h *history) awaitHold(which func(hold *held) bool) bool {
	return h.await(settleBound, func() bool {
		for _, hold := range h.holds {
			if which(hold) {
				return true
			}
		}
		return false
	})
}
