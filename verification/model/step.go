package model

import "github.com/redquorum/redquorum/verification/search"

// An action is one step from a state to the next.
type action struct {
	kind   actionKind
	client int8
	master int8
	rates  uint16 // of a tick: how each master's clock moved, two bits each
}

// IsTick reports whether time passes in it.
func (a action) IsTick() bool { return a.kind == actTick }

type actionKind uint8

const (
	actTick actionKind = iota
	actRestart
	actRestartWithData
	actStart
	actGrant
	actGiveUp
	actRelease
	actExtend
	actExtended
	actGiveUpExtension
	actExecute
	actLose
	actBreak
	actExecuteStray
	actLoseStray
)

// How a master's clock moves in one tick.
const (
	rateNormal = iota
	rateFast
	rateSlow
)

// A machine makes the steps of one configuration.
type machine struct {
	*Config
	layout
	need, ttl, extendTTL int
	perms                [][]int // of clients, without the identity
	full                 bool    // without normalize
	emit                 func(state, action)
	attempts             []int // how many each client made, in a trace
}

func newMachine(c *Config) *machine {
	l := newLayout(c.Clients)
	if c.InFlight != 0 {
		l.room = c.InFlight
	}
	return &machine{
		Config:    c,
		layout:    l,
		need:      c.need(),
		ttl:       c.TTL,
		extendTTL: c.extendTTL(),
		perms:     search.Permutations(c.Clients, 0),
		attempts:  make([]int, c.Clients),
	}
}

// token is the value that an attempt sets.
func (x *machine) token(client, age int) int {
	if x.has(OneToken) {
		age = 0
	}
	return newToken(client, age)
}

// Steps emits all states that can follow s. They are normalized, but not canonical.
func (x *machine) Steps(s *state, emit func(state, action)) {
	x.emit = emit
	x.tick(s)
	x.restarts(s)
	for c := range x.Clients {
		x.client(s, c)
		for m := range x.Masters {
			x.delivery(s, c, m)
		}
	}
}

func (x *machine) next(s *state, a action) {
	x.normalize(s)
	x.emit(*s, a)
}

// client emits what a client may decide to do.
func (x *machine) client(s *state, c int) {
	switch s.client(fPhase, c) {
	case idle:
		if x.mayStart(s, c) {
			n := *s
			x.start(&n, c)
			x.next(&n, action{kind: actStart, client: int8(c)})
		}
	case acquiring:
		n := *s
		if v := x.validity(x.ttl, s.client(fElapsed, c)); x.agreements(s, c) >= x.need && v > 0 {
			x.grant(&n, c, v)
			x.next(&n, action{kind: actGrant, client: int8(c)})
			return
		}
		x.end(&n, c)
		x.next(&n, action{kind: actGiveUp, client: int8(c)})
	case holding:
		n := *s
		x.end(&n, c)
		x.next(&n, action{kind: actRelease, client: int8(c)})
		x.extension(s, c)
	}
}

// mayStart reports whether a client may begin an attempt: it has attempts left, its token of
// age 1 is gone everywhere, and its queues have room for a SET and a release.
func (x *machine) mayStart(s *state, c int) bool {
	if !more(x.Attempts, s.client(fAttempts, c)) {
		return false
	}
	for m := range x.Masters {
		w := s.masters[m]
		if owner := fOwner.get(w); owner != 0 && tokenClient(owner) == c && tokenAge(owner) == 1 {
			return false
		}
		if stray := command(x.stray[c].get(w)); stray != 0 && stray.age() == 1 {
			return false
		}
		q := x.queue[c].get(w)
		if queueLen(q) > x.room-2 || q != 0 && queueHead(q).age() == 1 {
			return false
		}
	}
	return true
}

func more(bound, n int) bool { return bound == Any || n < bound }

func count(w *word, f field, bound int) {
	if bound != Any {
		f.set(w, f.get(*w)+1)
	}
}

// start begins an attempt: it sends SET with a fresh token to all masters.
func (x *machine) start(s *state, c int) {
	x.age(s, c)
	s.setClient(fPhase, c, acquiring)
	count(&s.clients, clientField(fAttempts, c), x.Attempts)
	x.sendAll(s, c, newCommand(cmdSet, 0))
}

// age gives a client's commands and keys the age 1: from now on they belong to the attempt
// before.
func (x *machine) age(s *state, c int) {
	for m := range x.Masters {
		w := &s.masters[m]
		x.queue[c].set(w, queueAge(x.queue[c].get(*w)))
		if stray := x.stray[c].get(*w); stray != 0 {
			x.stray[c].set(w, stray|1)
		}
		if fOwner.get(*w) == newToken(c, 0) {
			fOwner.set(w, x.token(c, 1))
		}
	}
}

func (x *machine) sendAll(s *state, c int, cmd command) {
	for m := range x.Masters {
		x.send(&s.masters[m], c, cmd)
	}
}

func (x *machine) send(w *word, c int, cmd command) {
	x.queue[c].set(w, queueAppend(x.queue[c].get(*w), cmd))
}

func (x *machine) agreements(s *state, c int) (n int) {
	for m := range x.Masters {
		if x.vote[c].get(s.masters[m]) == agreed {
			n++
		}
	}
	return n
}

// grant makes the client a holder. Of the votes it keeps only those that refused.
func (x *machine) grant(s *state, c, validity int) {
	s.setClient(fPhase, c, holding)
	s.setClient(fLeft, c, validity)
	s.setClient(fElapsed, c, 0)
	for m := range x.Masters {
		if w := &s.masters[m]; x.vote[c].get(*w) != refused {
			x.vote[c].set(w, noVote)
		}
	}
}

// end ends an attempt that failed, or a hold: a release goes to every master
// that may have the key.
func (x *machine) end(s *state, c int) {
	extended := s.client(fExtended, c) == 1
	for m := range x.Masters {
		w := &s.masters[m]
		if extended || x.vote[c].get(*w) != refused {
			x.send(w, c, newCommand(cmdRelease, 0))
		}
		x.vote[c].set(w, noVote)
	}
	for _, f := range []field{fPhase, fExtensions, fElapsed, fLeft, fExtending, fExtended} {
		s.setClient(f, c, 0)
	}
}

// extension emits what a holder may do to extend its hold.
func (x *machine) extension(s *state, c int) {
	n := *s
	if s.client(fExtending, c) == 0 {
		if x.mayExtend(s, c) {
			count(&n.clients, clientField(fExtensions, c), x.Extensions)
			n.setClient(fExtending, c, 1)
			n.setClient(fExtended, c, 1)
			x.clearVotes(&n, c)
			x.sendAll(&n, c, newCommand(cmdExtend, 0))
			x.next(&n, action{kind: actExtend, client: int8(c)})
		}
		return
	}
	v := x.validity(x.extendTTL, s.client(fElapsed, c))
	x.endExtension(&n, c)
	if x.agreements(s, c) >= x.need && v > 0 {
		n.setClient(fLeft, c, max(v, s.client(fLeft, c)))
		x.next(&n, action{kind: actExtended, client: int8(c)})
		return
	}
	if n.client(fLeft, c) == 0 { // TimerMoved: the hold waited for the extension beyond its end
		x.end(&n, c)
	}
	x.next(&n, action{kind: actGiveUpExtension, client: int8(c)})
}

func (x *machine) mayExtend(s *state, c int) bool {
	if !more(x.Extensions, s.client(fExtensions, c)) {
		return false
	}
	for m := range x.Masters {
		if queueLen(x.queue[c].get(s.masters[m])) > x.room-2 {
			return false
		}
	}
	return true
}

func (x *machine) endExtension(s *state, c int) {
	s.setClient(fExtending, c, 0)
	s.setClient(fElapsed, c, 0)
	x.clearVotes(s, c)
}

func (x *machine) clearVotes(s *state, c int) {
	for m := range x.Masters {
		x.vote[c].set(&s.masters[m], noVote)
	}
}

// restarts emits what follows when a master restarts. The queued commands reach the new
// process. That is worse than in reality, where SETs and extensions are never sent again on
// a new connection.
func (x *machine) restarts(s *state) {
	if !more(x.Restarts, fRestarts.get(s.clients)) {
		return
	}
	for m := range x.Masters {
		n := *s
		count(&n.clients, fRestarts, x.Restarts)
		w := &n.masters[m]
		x.setTimer(w, fQuar, x.quarantine())
		if x.KeepsData && fOwner.get(*w) != 0 {
			kept := n
			x.next(&kept, action{kind: actRestartWithData, master: int8(m)})
		}
		x.free(w)
		x.next(&n, action{kind: actRestart, master: int8(m)})
	}
}
