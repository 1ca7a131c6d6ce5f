package moving

import "github.com/redquorum/redquorum/verification/search"

// An action is one step from a state to the next.
type action struct {
	kind                  actionKind
	client, fleet, master int8
	subset                uint8 // of an extension: the masters that execute it, a bit each
}

// IsTick reports whether time passes in it.
func (a action) IsTick() bool { return a.kind == actTick }

type actionKind uint8

const (
	actTick actionKind = iota
	actRestart
	actMark
	actEnter
	actAsk
	actExecute
	actGranted
	actGiveUp
	actAskAgain
	actExtend
	actRelease
)

// A machine makes the steps of one configuration.
type machine struct {
	*Config
	perms   [][]int // of clients, without the identity
	emit    func(state, action)
	reached reached // in the states that were checked
}

func newMachine(c *Config) *machine {
	fixed := 0
	if c.Forgotten {
		fixed = 1 // the first
	}
	return &machine{Config: c, perms: search.Permutations(c.Clients, fixed)}
}

// Steps emits all states that can follow s. They are not canonical.
func (x *machine) Steps(s *state, emit func(state, action)) {
	x.emit = emit
	x.tick(s)
	for f := range s.masters {
		for i := range x.masters(f) {
			x.onMaster(s, f, i)
		}
	}
	for c := range x.Clients {
		x.onClient(s, c)
	}
}

// onMaster emits what may happen to a master, whoever asks it.
func (x *machine) onMaster(s *state, f, i int) {
	m := &s.masters[f][i]
	a := action{fleet: int8(f), master: int8(i)}
	if int(s.restarts) < x.Restarts && (x.Forgetful || !m.mark || x.unmarkedWithout(s, i) < x.need(old)) {
		n := *s
		n.restarts++
		n.masters[f][i] = master{quar: uint8(x.TTL), votes: m.votes}
		a.kind = actRestart
		x.emit(n, a)
	}
	if f == old && !m.mark && x.mayMark(s) {
		n := *s
		x.markMaster(&n, i)
		a.kind = actMark
		x.emit(n, a)
	}
}

// unmarkedWithout is how many masters of the old fleet have no mark when one has lost
// its own.
func (x *machine) unmarkedWithout(s *state, lost int) (n int) {
	for i := range x.From {
		if i == lost || !s.masters[old][i].mark {
			n++
		}
	}
	return n
}

// mayMark reports whether masters may be marked.
func (x *machine) mayMark(s *state) bool {
	return !x.has(NotClosed) && (s.began || x.has(NotAll) || x.allBeyond(s, 0))
}

// allBeyond reports whether all clients are beyond a phase but who is forgotten.
func (x *machine) allBeyond(s *state, phase uint8) bool {
	for c := range x.Clients {
		if s.clients[c].phase <= phase && !(x.Forgotten && c == 0) {
			return false
		}
	}
	return true
}

func (x *machine) markMaster(s *state, i int) {
	s.masters[old][i].mark = true
	marked := x.From - x.unmarkedWithout(s, -1)
	if x.has(WaitFromFirst) && !s.began || !x.has(WaitFromFirst) && !s.closed && marked >= x.least() {
		s.wait = uint8(x.TTL)
	}
	if x.has(NoWait) {
		s.wait = 0
	}
	s.began = true
	s.closed = s.closed || marked >= x.least()
	if x.Heard {
		for c := range x.Clients {
			s.clients[c].heard = s.clients[c].phase == 0
		}
	}
}

// onClient emits what a client may do, and what masters do for it.
func (x *machine) onClient(s *state, c int) {
	idle := true
	for f, p := range s.clients[c].parts {
		a := action{client: int8(c), fleet: int8(f)}
		switch p.state {
		case asking, waiting:
			x.attempt(s, a)
		case held:
			x.extend(s, a)
		}
		idle = idle && p.state == none
	}
	if idle {
		x.enter(s, c)
		for f := range s.clients[c].parts {
			if x.mayBegin(&s.clients[c], f) {
				x.ask(s, action{kind: actAsk, client: int8(c), fleet: int8(f)}, asking)
			}
		}
		return
	}
	n := *s
	x.giveBack(&n, c)
	a := action{kind: actGiveUp, client: int8(c)}
	if x.believes(&s.clients[c]) {
		a.kind = actRelease
	}
	x.emit(n, a)
}

// mayBegin reports whether a client that has nothing may ask a fleet: in phase two first
// the one that was in the way before, or any.
func (x *machine) mayBegin(c *client, f int) bool {
	switch {
	case c.phase == 0:
		return f == old
	case c.phase == 2 || x.has(OneFleet):
		return f == fresh
	case x.has(WaitsHolding) && !x.has(AnyOrder):
		return f == old // by their ids
	default:
		return true
	}
}

// enter emits that a client goes on to the next phase.
func (x *machine) enter(s *state, c int) {
	n := *s
	me := &n.clients[c]
	switch {
	case x.Forgotten && c == 0:
		return
	case me.phase == 0:
		*me = client{phase: 1}
	case me.phase == 1 && (x.has(NotClosed) && x.allBeyond(s, 0) || s.closed && s.wait == 0):
		me.phase = 2
	default:
		return
	}
	x.emit(n, action{kind: actEnter, client: int8(c)})
}

// ask emits that a client begins an attempt in a fleet.
func (x *machine) ask(s *state, a action, as uint8) {
	n := *s
	x.leave(&n, int(a.client), int(a.fleet))
	n.clients[a.client].parts[a.fleet] = part{state: as}
	x.emit(n, a)
}

// attempt emits what may become of the attempt that a client makes in a fleet.
func (x *machine) attempt(s *state, a action) {
	c, f := int(a.client), int(a.fleet)
	votes := 0
	for i := range x.masters(f) {
		m := &s.masters[f][i]
		if m.owner == 0 {
			a.kind, a.master = actExecute, int8(i)
			x.execute(s, a)
		}
		votes += int(m.votes >> c & 1)
	}
	a.master = 0
	p := s.clients[c].parts[f]
	if votes >= x.need(f) {
		n := *s
		n.clients[c].parts[f] = part{held, uint8(x.TTL) - p.timer}
		x.clearVotes(&n, c, f)
		a.kind = actGranted
		if other := 1 - f; n.clients[c].phase == 1 && !x.has(OneFleet) && n.clients[c].parts[other].state == none {
			n.clients[c].parts[other] = part{state: asking}
			if x.has(WaitsHolding) {
				n.clients[c].parts[other].state = waiting
			}
		}
		x.emit(n, a)
	}
	if p.state == waiting {
		a.kind = actAskAgain
		x.ask(s, a, waiting)
	}
}

// execute emits that a master executes the command of an attempt.
func (x *machine) execute(s *state, a action) {
	n := *s
	c, f := int(a.client), int(a.fleet)
	m := &n.masters[f][a.master]
	m.owner, m.left = uint8(1+c), uint8(x.TTL)
	if x.counts(&n.clients[c], f, m, CountClosed) {
		m.votes |= 1 << c
	}
	x.emit(n, a)
}

// counts reports whether what a master says to a client counts, where a mistake may have
// closed masters count.
func (x *machine) counts(c *client, f int, m *master, mistake Mistake) bool {
	if m.quar > 0 || f != old || c.phase != 0 || x.has(mistake) {
		return m.quar == 0
	}
	return !m.mark && (!c.heard || x.has(HearsNothing))
}

// extend emits the ways in which a client may extend its hold in a fleet.
func (x *machine) extend(s *state, a action) {
	c, f := int(a.client), int(a.fleet)
	a.kind = actExtend
	for subset := uint8(1); subset < 1<<x.masters(f); subset++ {
		n := *s
		votes := 0
		for i := range x.masters(f) {
			if subset&(1<<i) == 0 {
				continue
			}
			m := &n.masters[f][i]
			switch m.owner {
			case uint8(1 + c):
				m.left = uint8(x.TTL)
				if x.counts(&n.clients[c], f, m, ExtendClosed) {
					votes++
				}
			case 0: // set again, which does not count
				m.owner, m.left = uint8(1+c), uint8(x.TTL)
			}
		}
		if votes >= x.need(f) {
			n.clients[c].parts[f].timer = uint8(x.TTL)
		}
		a.subset = subset
		x.emit(n, a)
	}
}

// giveBack ends all that a client has or asks for.
func (x *machine) giveBack(s *state, c int) {
	for f := range s.masters {
		x.leave(s, c, f)
		s.clients[c].parts[f] = part{}
	}
}

// leave gives back what a client has in a fleet.
func (x *machine) leave(s *state, c, f int) {
	for i := range x.masters(f) {
		if m := &s.masters[f][i]; m.owner == uint8(1+c) {
			m.owner, m.left = 0, 0
		}
	}
	x.clearVotes(s, c, f)
}

func (x *machine) clearVotes(s *state, c, f int) {
	for i := range x.masters(f) {
		s.masters[f][i].votes &^= 1 << c
	}
}

// tick emits what follows when time passes.
func (x *machine) tick(s *state) {
	n := *s
	for f := range n.masters {
		for i := range x.masters(f) {
			m := &n.masters[f][i]
			m.quar = max(m.quar, 1) - 1
			if m.left = max(m.left, 1) - 1; m.left == 0 {
				m.owner = 0
			}
		}
	}
	n.wait = max(n.wait, 1) - 1
	for c := range x.Clients {
		x.clientTick(&n, c)
	}
	x.emit(n, action{kind: actTick})
}

// clientTick moves a client's clock: an attempt that can have no validity any more is
// given up, and a hold that has none ends, in both fleets.
func (x *machine) clientTick(s *state, c int) {
	for f := range s.masters {
		p := &s.clients[c].parts[f]
		switch p.state {
		case asking, waiting:
			if p.timer++; int(p.timer) >= x.TTL {
				if p.state == waiting {
					x.leave(s, c, f)
					*p = part{state: waiting}
					continue
				}
				x.giveBack(s, c)
				return
			}
		case held:
			if p.timer--; p.timer > 0 {
				continue
			}
			if f == old && x.has(OneContext) && x.believes(&s.clients[c]) && s.clients[c].phase == 1 {
				x.leave(s, c, f)
				*p = part{state: gone}
				continue
			}
			x.giveBack(s, c)
			return
		}
	}
}
