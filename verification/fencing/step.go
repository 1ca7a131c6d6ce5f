package fencing

import "github.com/redquorum/redquorum/verification/search"

// An action is one step from a state to the next.
type action struct {
	kind            actionKind
	attempt, master int8
	number          uint8 // masters that earlier attempts left ahead, or the floor
	expired         bool  // the lock had expired when the script looked
	lost            bool  // the answer is lost
}

// IsTick reports whether time passes in it.
func (a action) IsTick() bool { return a.kind == actTick }

type actionKind uint8

const (
	actTick actionKind = iota
	actEarlier
	actLose
	actBegin
	actAcquire
	actStray
	actCount
	actRaise
	actComplete
	actGiveUp
	actSetAgain
)

// A machine makes the steps of one configuration.
type machine struct {
	*Config
	perms   [][]int // of attempts, without the identity
	emit    func(state, action)
	reached reached
}

func newMachine(c *Config) *machine {
	return &machine{Config: c, perms: search.Permutations(c.Attempts, 0)}
}

// Steps emits all states that can follow s. They are not canonical.
func (x *machine) Steps(s *state, emit func(state, action)) {
	x.emit = emit
	if x.timed() {
		x.faults(s)
	} else if *s == (state{}) {
		x.earlier(s)
	}
	for a := range x.Attempts {
		x.onAttempt(s, a)
	}
}

// earlier emits what earlier attempts may have left: some masters are ahead, but not all.
func (x *machine) earlier(s *state) {
	n := *s
	for i := range masters - 1 {
		n.masters[i].fence = 1
		x.emit(n, action{kind: actEarlier, number: uint8(i + 1)})
	}
}

// faults emits that time passes, and that masters lose what they have.
func (x *machine) faults(s *state) {
	if int(s.now) < x.Ticks {
		n := *s
		n.now++
		for i := range n.masters {
			n.masters[i].quar = max(n.masters[i].quar, 1) - 1
		}
		x.emit(n, action{kind: actTick})
	}
	for i := range masters {
		if int(s.losses) == x.Losses {
			return
		}
		n := *s
		n.losses++
		m := &n.masters[i]
		m.owner, m.fence, m.quar = 0, 0, uint8(x.quarantine())
		x.emit(n, action{kind: actLose, master: int8(i)})
	}
}

// onAttempt emits what an attempt may do, and what masters do for it.
func (x *machine) onAttempt(s *state, number int) {
	a := action{attempt: int8(number)}
	me := &s.attempts[number]
	if me.phase == unborn {
		x.begin(s, a)
		return
	}
	for i := range masters {
		a.master = int8(i)
		asked := s.masters[i].asked>>number&1 != 0
		switch {
		case me.phase == asking && !asked && x.inTime(s, me):
			x.acquire(s, a)
		case me.phase == raising && me.stored < need && !asked && x.inTime(s, me):
			x.raise(s, a)
		case me.phase == complete && x.SetsAgain:
			x.setAgain(s, a)
		}
		if int(me.strays) < x.Strays {
			x.stray(s, a)
		}
	}
	a.master = 0
	switch {
	case me.phase == asking:
		x.count(s, a)
	case me.phase == raising && me.stored >= need && x.inTime(s, me):
		x.complete(s, a)
	case me.phase == raising:
		x.giveUp(s, a)
	}
}

func (x *machine) inTime(s *state, me *attempt) bool { return !x.timed() || s.now <= me.began+timeout }

// begin emits the floors with which an attempt may begin.
func (x *machine) begin(s *state, a action) {
	floors := []uint8{0, 2} // a floor of 1 changes nothing: masters give 1 or more
	switch {
	case x.timed() && x.has(NoFloor):
		floors = floors[:1]
	case x.timed():
		floors = []uint8{s.now, s.now + skew}
	}
	for _, floor := range floors {
		n := *s
		n.attempts[a.attempt] = attempt{phase: asking, floor: floor, before: s.highest}
		if x.timed() {
			n.attempts[a.attempt].began = s.now
		}
		a.kind, a.number = actBegin, floor
		x.emit(n, a)
	}
}

// executions calls script for a master, and again for that master with its lock expired.
func executions(s *state, a action, script func(n *state, m *master, a action)) {
	n := *s
	script(&n, &n.masters[a.master], a)
	if s.masters[a.master].owner == 0 {
		return
	}
	n = *s
	n.masters[a.master].owner = 0
	a.expired = true
	script(&n, &n.masters[a.master], a)
}

// grant is the script that acquires. It returns the value given; 0: the lock is taken.
func grant(m *master, number int8, floor uint8) uint8 {
	if m.owner != 0 {
		return 0
	}
	m.owner = uint8(1 + number)
	m.fence = max(m.fence+1, floor)
	return m.fence
}

// acquire emits that a master executes the command of an attempt. Its answer counts, or is
// lost; a master in quarantine does not vote.
func (x *machine) acquire(s *state, a action) {
	a.kind = actAcquire
	executions(s, a, func(n *state, m *master, a action) {
		m.asked |= 1 << a.attempt
		value := grant(m, a.attempt, n.attempts[a.attempt].floor)
		if value != 0 && m.quar == 0 {
			m.given[a.attempt] = value
			x.emit(*n, a)
			m.given[a.attempt] = 0
		}
		a.lost = value != 0
		x.emit(*n, a)
	})
}

// stray emits that a master executes the command late, or again.
func (x *machine) stray(s *state, a action) {
	a.kind = actStray
	executions(s, a, func(n *state, m *master, a action) {
		me := &n.attempts[a.attempt]
		grant(m, a.attempt, me.floor)
		me.strays++
		x.emit(*n, a)
	})
}

// count emits that an attempt decides by the answers it has.
func (x *machine) count(s *state, a action) {
	n := *s
	me := &n.attempts[a.attempt]
	grants := 0
	for i := range n.masters {
		n.masters[i].asked &^= 1 << a.attempt
		switch given := n.masters[i].given[a.attempt]; {
		case given == 0:
			continue
		case given > me.token:
			me.token, me.stored = given, 1
		case given == me.token:
			me.stored++
		}
		grants++
	}
	if grants < need {
		x.giveUp(s, a)
		return
	}
	me.phase = raising
	if x.has(NoRaise) {
		me.stored = need
	}
	a.kind = actCount
	x.emit(n, a)
}

// raise emits that a master that gave less than the token executes the command of the second
// round.
func (x *machine) raise(s *state, a action) {
	if given := s.masters[a.master].given[a.attempt]; given == 0 || given >= s.attempts[a.attempt].token {
		return
	}
	a.kind = actRaise
	executions(s, a, func(n *state, m *master, a action) {
		me := &n.attempts[a.attempt]
		m.asked |= 1 << a.attempt
		if m.owner == uint8(1+a.attempt) && (m.fence == m.given[a.attempt] || x.has(RaiseIfOwner)) {
			m.fence = me.token
			if m.quar == 0 {
				me.stored++
				x.reached.raised = true
			}
		}
		x.emit(*n, a)
	})
}

// complete emits that an attempt has its token.
func (x *machine) complete(s *state, a action) {
	n := *s
	me := &n.attempts[a.attempt]
	x.forget(&n, a, complete)
	me.token = s.attempts[a.attempt].token
	me.low = me.token <= s.attempts[a.attempt].before
	n.highest = max(n.highest, me.token)
	a.kind = actComplete
	x.emit(n, a)
}

func (x *machine) giveUp(s *state, a action) {
	n := *s
	x.forget(&n, a, over)
	a.kind = actGiveUp
	x.emit(n, a)
}

// forget clears what an attempt no longer needs, so that states that behave alike are equal.
// Strays still need the floor.
func (x *machine) forget(s *state, a action, phase uint8) {
	me := &s.attempts[a.attempt]
	*me = attempt{phase: phase, strays: me.strays, floor: me.floor}
	if x.Strays == 0 {
		me.floor = 0
	}
	for i := range s.masters {
		s.masters[i].given[a.attempt] = 0
		s.masters[i].asked &^= 1 << a.attempt
	}
}

// setAgain emits that a holder's extension sets the lock again.
func (x *machine) setAgain(s *state, a action) {
	n := *s
	m := &n.masters[a.master]
	m.owner, m.fence = uint8(1+a.attempt), max(m.fence, s.attempts[a.attempt].token)
	a.kind = actSetAgain
	x.emit(n, a)
}
