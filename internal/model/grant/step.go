package grant

// An action is one step from a state to the next.
type action struct {
	kind           actionKind
	client, master int8
	age            int8
	token          uint8 // that is granted, or that a key is deleted of
	fast           uint8 // of a tick: the masters whose clock gains, a bit each
}

type actionKind uint8

const (
	actTick actionKind = iota
	actRestart
	actJump
	actAsk
	actSet
	actGrant
	actHear
	actHold
	actGiveUp
	actRelease
	actReleaseTo
	actDelete
	actRefresh
	actAskAgain
	actRollback
)

// A machine makes the steps of one configuration.
type machine struct {
	*Config
	perms [][]int // of clients, without the identity
	full  bool    // without normalize
	emit  func(state, action)
}

func newMachine(c *Config) *machine {
	return &machine{Config: c, perms: permutations(c.Clients)}
}

// steps emits all states that can follow s. They are normal, but not canonical.
func (x *machine) steps(s *state) {
	x.ticks(s)
	for i := range x.Masters {
		x.faults(s, i)
		x.deletion(s, i)
		for c := range x.Clients {
			x.delivery(s, i, c)
		}
	}
	for c := range x.Clients {
		x.client(s, c)
	}
}

// next emits a state after it has been made normal.
func (x *machine) next(s state, a action) {
	x.normalize(&s)
	x.emit(s, a)
}

// faults emits what may happen to a master by itself.
func (x *machine) faults(s *state, i int) {
	if int(s.restarts) < x.Restarts {
		n := *s
		n.restarts++
		n.masters[i] = master{quar: uint8(x.TTL + x.Drift), sides: s.masters[i].sides}
		x.next(n, action{kind: actRestart, master: int8(i)})
	}
	if int(s.jumps) < x.Jumps && s.masters[i].owner != 0 {
		n := *s
		n.jumps++
		n.masters[i].dropKey()
		x.next(n, action{kind: actJump, master: int8(i)})
	}
}

func (m *master) dropKey() { m.owner, m.left, m.fast = 0, 0, 0 }

// deletion emits that a release deletes a key with which nobody asks or holds any more.
func (x *machine) deletion(s *state, i int) {
	if owner := s.masters[i].owner; owner != 0 && s.stale(owner) {
		n := *s
		x.release(&n.masters[i], owner)
		x.next(n, action{kind: actDelete, master: int8(i), token: owner})
	}
}

// release is what a master does for a token that is given back.
func (x *machine) release(m *master, token uint8) {
	if m.owner == token {
		m.dropKey()
	}
	if m.lease == token {
		m.lease, m.leaseLeft = 0, 0
	}
}

// delivery emits that what is on its way between a master and a client arrives.
func (x *machine) delivery(s *state, i, c int) {
	m := &s.masters[i]
	d := &m.sides[c]
	a := action{client: int8(c), master: int8(i)}
	for age := range d.sets {
		a.age, a.token = int8(age), 0
		if token := newToken(c, age); d.sets[age] && m.owner == 0 && (m.lease == 0 || m.lease == token) {
			n := *s
			x.executeSet(&n, i, c, age)
			a.kind = actSet
			x.next(n, a)
		}
		if to := d.grants[age]; to != 0 && (m.owner == newToken(c, age) || x.has(NoCompare|PublishesAnyway)) {
			n := *s
			x.executeGrant(&n, i, c, age)
			a.kind, a.token = actGrant, to
			x.next(n, a)
		}
		if d.messages[age] && s.clients[c].phase == asking && (age == 0 || x.has(CountsStale)) {
			n := *s
			x.hear(&n, i, c, age)
			a.kind = actHear
			x.next(n, a)
		}
	}
	if d.rollback {
		n := *s
		n.masters[i].sides[c].rollback = false
		x.release(&n.masters[i], newToken(c, 0))
		x.next(n, action{kind: actRollback, client: int8(c), master: int8(i)})
	}
}

// setKey gives a key to a token, and returns the fence.
func (x *machine) setKey(m *master, token, floor uint8) uint8 {
	m.owner, m.left, m.fast = token, uint8(x.TTL), 0
	if x.Strict {
		m.lease, m.leaseLeft = token, uint8(x.TTL)
	}
	if x.Fencing {
		m.fence = max(m.fence+1, floor)
	}
	return m.fence
}

func (x *machine) executeSet(s *state, i, c, age int) {
	m := &s.masters[i]
	d := &m.sides[c]
	d.sets[age] = false
	fence := x.setKey(m, newToken(c, age), 0)
	if age == 0 && s.clients[c].phase == asking {
		d.fence = fence
		if m.quar == 0 {
			d.vote = bySet
		}
	}
}

func (x *machine) executeGrant(s *state, i, c, age int) {
	m := &s.masters[i]
	d := &m.sides[c]
	to, floor := d.grants[age], d.floors[age]
	if !x.Doubled {
		d.grants[age], d.floors[age] = 0, 0
	}
	before := *m
	fence := before.fence
	if m.owner == newToken(c, age) || x.has(NoCompare) {
		if x.has(NoFloor) {
			floor = 0
		}
		fence = x.setKey(m, to, floor)
	}
	switch {
	case x.has(KeepsExpiry):
		m.left, m.fast = before.left, before.fast
	case x.has(NoExpiry):
		m.left = never
	case x.has(NoLease):
		m.lease, m.leaseLeft = 0, 0 // that of the releaser
	case x.has(SameFence):
		m.fence, fence = before.fence, before.fence
	}
	if m.quar > 0 && !x.has(CountsQuarantined) {
		return
	}
	waiter := &m.sides[tokenClient(to)]
	waiter.messages[tokenAge(to)] = true
	if tokenAge(to) == 0 {
		waiter.fence = fence
	}
}

// hear has a client count a message.
func (x *machine) hear(s *state, i, c, age int) {
	d := &s.masters[i].sides[c]
	if x.has(CountsTwice) && d.vote == byGrant {
		d.again = true
	}
	d.vote = byGrant
	if !x.has(CountsTwice) {
		d.messages[age] = false // what comes twice changes nothing
	}
	if x.has(FromReceipt) {
		s.clients[c].timer = 0
	}
}

// client emits what a client may decide to do.
func (x *machine) client(s *state, c int) {
	me := &s.clients[c]
	a := action{client: int8(c)}
	switch me.phase {
	case idle:
		if x.mayAsk(s, c) {
			n := *s
			x.ask(&n, c)
			a.kind = actAsk
			x.next(n, a)
		}
	case asking:
		if x.mayHold(s, c) {
			n := *s
			x.hold(&n, c)
			a.kind = actHold
			x.next(n, a)
		}
		n := *s
		if x.has(HoldsAfterGivingUp) {
			n.clients[c].gaveUp = true
		} else {
			x.end(&n, c)
		}
		a.kind = actGiveUp
		x.next(n, a)
		x.mistakesOfAsking(s, c)
	case holding:
		n := *s
		x.end(&n, c)
		a.kind = actRelease
		x.next(n, a)
	}
	if me.phase == holding || x.has(GrantsWithoutLock) && !x.grantsOnTheirWay(s, c) {
		x.releaseTo(s, c)
	}
}

// mistakesOfAsking emits what is done wrong with the token of an attempt.
func (x *machine) mistakesOfAsking(s *state, c int) {
	a := action{client: int8(c)}
	if x.has(KeepsToken) {
		n := *s
		n.clients[c].timer = 0
		a.kind = actRefresh
		x.next(n, a)
	}
	if x.has(TriesAgain) {
		n := *s
		for i := range x.Masters {
			d := &n.masters[i].sides[c]
			d.vote, d.messages[0], d.rollback, d.sets[0] = noVote, false, true, true
		}
		n.clients[c].timer = 0
		a.kind = actAskAgain
		x.next(n, a)
	}
}

func (x *machine) grantsOnTheirWay(s *state, c int) bool {
	for i := range x.Masters {
		if s.masters[i].sides[c].grants[0] != 0 {
			return true
		}
	}
	return false
}

// mayAsk reports whether a client may begin an attempt: if attempts are left to it, and
// no master has its token of before the last one.
func (x *machine) mayAsk(s *state, c int) bool {
	if x.Attempts != Any && int(s.clients[c].attempts) >= x.Attempts {
		return false
	}
	for i := range x.Masters {
		if m, last := &s.masters[i], newToken(c, 1); m.owner == last || m.lease == last {
			return false
		}
	}
	return true
}

// ask begins an attempt: a fresh token, with which the client waits, and which it also
// sets on all masters, now or later or never.
func (x *machine) ask(s *state, c int) {
	aged := func(token uint8) uint8 {
		switch token {
		case newToken(c, 1):
			return 0 // lost
		case newToken(c, 0):
			return newToken(c, 1)
		default:
			return token
		}
	}
	for i := range x.Masters {
		m := &s.masters[i]
		m.owner, m.lease = aged(m.owner), aged(m.lease)
		for other := range x.Clients {
			d := &m.sides[other]
			for age, to := range d.grants {
				if d.grants[age] = aged(to); d.grants[age] == 0 {
					d.floors[age] = 0
				}
			}
		}
		d := &m.sides[c]
		*d = side{
			sets:     [2]bool{true, d.sets[0]},
			grants:   [2]uint8{0, d.grants[0]},
			floors:   [2]uint8{0, d.floors[0]},
			messages: [2]bool{false, d.messages[0]},
		}
	}
	me := client{phase: asking}
	if x.Attempts != Any {
		me.attempts = s.clients[c].attempts + 1
	}
	s.clients[c] = me
}

// mayHold reports whether an attempt has what it needs.
func (x *machine) mayHold(s *state, c int) bool {
	votes, stored, token := 0, 0, x.fenceOf(s, c)
	for i := range x.Masters {
		d := &s.masters[i].sides[c]
		if d.vote == noVote {
			continue
		}
		votes += 1 + int(bit(d.again))
		if d.fence >= token {
			stored++
		}
	}
	// The library raises the others' fence in a second round; here it gives up.
	if x.Fencing && !x.has(FenceNotStored) && stored < x.need() {
		return false
	}
	return votes >= x.need() && x.validity(s.clients[c].timer) > 0
}

// fenceOf is the fencing token of an attempt: the highest of what it was given.
func (x *machine) fenceOf(s *state, c int) (token uint8) {
	for i := range x.Masters {
		if d := &s.masters[i].sides[c]; d.vote != noVote {
			token = max(token, d.fence)
		}
	}
	return token
}

func (x *machine) hold(s *state, c int) {
	me := &s.clients[c]
	if x.Fencing {
		me.fence = x.fenceOf(s, c)
		s.notAbove = s.notAbove || me.fence <= s.highest
		s.highest = max(s.highest, me.fence)
	}
	me.phase, me.timer = holding, uint8(x.validity(me.timer))
	x.forget(s, c)
}

// forget drops what a client has heard of its present token.
func (x *machine) forget(s *state, c int) {
	for i := range x.Masters {
		d := &s.masters[i].sides[c]
		d.vote, d.again, d.fence, d.rollback = noVote, false, 0, false
	}
}

// end ends an attempt or a hold. The key is released on all masters, sooner or later.
func (x *machine) end(s *state, c int) {
	x.forget(s, c)
	me := &s.clients[c]
	me.phase, me.timer, me.fence = idle, 0, 0
}

// releaseTo emits that a client releases the lock to another, whichever it is, and whether
// or not that still waits: what is known of the queue may be out of date.
func (x *machine) releaseTo(s *state, c int) {
	for other := range x.Clients {
		if other == c {
			continue
		}
		token := newToken(other, 0)
		n := *s
		floor := s.clients[c].fence + 1
		if !x.has(HoldsOn) {
			x.end(&n, c)
		}
		for i := range x.Masters {
			d := &n.masters[i].sides[c]
			d.grants[0] = token
			if x.Fencing {
				d.floors[0] = floor
			}
		}
		x.next(n, action{kind: actReleaseTo, client: int8(c), token: token})
	}
}

// normalize drops what makes no difference any more. A key that nobody uses can only be
// in the way, and a command that is never executed does nothing: whatever may follow may
// also follow without them.
func (x *machine) normalize(s *state) {
	if x.full {
		return
	}
	for i := range x.Masters {
		m := &s.masters[i]
		x.dropCommands(s, m)
		for c := range x.Clients {
			x.dropAnswers(s, m, c)
		}
		if owner := m.owner; owner != 0 && s.stale(owner) && m.grantOf(owner) == 0 {
			x.release(m, owner)
		}
		if m.lease != 0 && m.lease != m.owner && s.stale(m.lease) {
			m.lease, m.leaseLeft = 0, 0
		}
	}
}

// grantOf is to whom a grant by a token is on its way.
func (m *master) grantOf(token uint8) uint8 {
	return m.sides[tokenClient(token)].grants[tokenAge(token)]
}

// tokens is a set of them, a bit each.
type tokens uint8

func (t tokens) has(token uint8) bool { return token != 0 && t>>token&1 == 1 }

// dropCommands drops grants by tokens that the master will not have, and SET and grants for
// tokens with which nothing more can be done.
func (x *machine) dropCommands(s *state, m *master) {
	owners, useful := x.owners(m), x.useful(s, m)
	for c := range x.Clients {
		d := &m.sides[c]
		for age := range 2 {
			token := newToken(c, age)
			if !owners.has(token) && !x.has(NoCompare|PublishesAnyway) || !useful.has(d.grants[age]) {
				d.grants[age], d.floors[age] = 0, 0
			}
			d.sets[age] = d.sets[age] && useful.has(token)
		}
	}
}

// owners are the tokens that the key of a master has or may get: by a SET, by a grant that is
// on its way, or by one that is still to be sent. That can be to any that is not older.
func (x *machine) owners(m *master) (all tokens) {
	for c := range x.Clients {
		all |= 1 << newToken(c, 0)
		if m.sides[c].sets[1] {
			all |= 1 << newToken(c, 1)
		}
	}
	all |= 1 << m.owner
	for before := tokens(0); before != all; {
		before = all
		for c := range x.Clients {
			for age, to := range m.sides[c].grants {
				if to != 0 && all.has(newToken(c, age)) {
					all |= 1 << to
				}
			}
		}
	}
	return all
}

// useful are the tokens that somebody asks or holds with, and those from which grants
// lead to them. With fencing all are: each command raises the fence.
func (x *machine) useful(s *state, m *master) (all tokens) {
	for c := range x.Clients {
		for age := range 2 {
			token := newToken(c, age)
			if !s.stale(token) || x.Fencing || x.has(CountsStale) || x.has(GrantsWithoutLock) && age == 0 {
				all |= 1 << token
			}
		}
	}
	for before := tokens(0); before != all; {
		before = all
		for c := range x.Clients {
			for age, to := range m.sides[c].grants {
				if all.has(to) {
					all |= 1 << newToken(c, age)
				}
			}
		}
	}
	return all
}

// dropAnswers drops what a client will not count.
func (x *machine) dropAnswers(s *state, m *master, c int) {
	d, asks := &m.sides[c], s.clients[c].phase == asking
	if !x.has(CountsStale) {
		d.messages[0] = d.messages[0] && asks
		d.messages[1] = false
	}
	if !asks {
		d.fence = 0
	}
}

// ticks emits what follows when time passes, with each way in which the masters' clocks
// may gain.
func (x *machine) ticks(s *state) {
	for fast := range uint8(1 << x.Masters) {
		n := *s
		if x.tickMasters(&n, fast) {
			for c := range x.Clients {
				x.tickClient(&n, c)
			}
			x.next(n, action{kind: actTick, fast: fast})
		}
	}
}

// tickMasters reports whether the clocks of these masters may gain.
func (x *machine) tickMasters(s *state, fast uint8) bool {
	for i := range x.Masters {
		m := &s.masters[i]
		by := uint8(1)
		if fast>>i&1 == 1 {
			by = 2
			key, quar := m.owner != 0 && m.left != never, m.quar > 0
			if !key && !quar || key && int(m.fast) >= x.Fast || quar && int(m.quarFast) >= x.Fast {
				return false
			}
			m.fast += uint8(bit(key))
			m.quarFast += uint8(bit(quar))
		}
		if m.quar = max(m.quar, by) - by; m.quar == 0 {
			m.quarFast = 0
		}
		if m.leaseLeft = max(m.leaseLeft, by) - by; m.leaseLeft == 0 {
			m.lease = 0
		}
		if m.left == never {
			continue
		}
		if m.left = max(m.left, by) - by; m.left == 0 {
			m.dropKey()
		}
	}
	return true
}

// tickClient moves a client's clock: an attempt that can have no validity any more is
// given up, and a hold that has none ends.
func (x *machine) tickClient(s *state, c int) {
	me := &s.clients[c]
	switch me.phase {
	case asking:
		if me.timer++; x.validity(me.timer) <= 0 {
			// Whoever may still move the start asks on.
			if x.has(FromReceipt|KeepsToken|TriesAgain) && me.timer <= uint8(x.TTL) {
				return
			}
			x.end(s, c)
		}
	case holding:
		if me.timer--; me.timer == 0 {
			x.end(s, c)
		}
	}
}
