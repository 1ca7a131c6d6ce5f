package model

// This file models a master, and the commands on their way to it.

// delivery emits what may happen to the commands on their way from a client to a master.
func (x *machine) delivery(s *state, c, m int) {
	a := action{client: int8(c), master: int8(m)}
	w := s.masters[m]
	if q := x.queue[c].get(w); q != 0 {
		cmd := queueHead(q)
		n := *s
		x.queue[c].set(&n.masters[m], q>>commandBits)
		executed := n
		x.execute(&executed, c, m, cmd, x.counts(s, c, cmd, q>>commandBits))
		a.kind = actExecute
		x.next(&executed, a)
		x.breaks(s, &n, c, m, cmd)
	}
	if stray := command(x.stray[c].get(w)); stray != 0 {
		n := *s
		x.stray[c].set(&n.masters[m], 0)
		executed := n
		x.execute(&executed, c, m, stray, false)
		a.kind = actExecuteStray
		x.next(&executed, a)
		a.kind = actLoseStray
		x.next(&n, a)
	}
}

// breaks emits what may happen to the first command when its connection breaks: it is
// lost, or it becomes a straggler. rest is the state without that command.
func (x *machine) breaks(s, rest *state, c, m int, cmd command) {
	if x.Loss {
		n := *rest
		x.noAnswer(&n, s, c, m, cmd)
		x.next(&n, action{kind: actLose, client: int8(c), master: int8(m)})
	}
	if x.stray[c].get(s.masters[m]) != 0 || !more(x.Stragglers, fStrays.get(s.clients)) {
		return
	}
	n := *rest
	if cmd.verb() == cmdRelease { // repeated on the next connection
		n = *s
	}
	count(&n.clients, fStrays, x.Stragglers)
	x.stray[c].set(&n.masters[m], int(cmd))
	x.noAnswer(&n, s, c, m, cmd)
	x.next(&n, action{kind: actBreak, client: int8(c), master: int8(m)})
}

// noAnswer records that a command of the current round will not be answered.
func (x *machine) noAnswer(n, s *state, c, m int, cmd command) {
	if x.counts(s, c, cmd, x.queue[c].get(s.masters[m])>>commandBits) {
		x.vote[c].set(&n.masters[m], void)
	}
}

// counts reports whether the client waits for the answer to a command: the command belongs
// to the current round, the latest that was sent. behind is the queue behind it.
func (x *machine) counts(s *state, c int, cmd command, behind int) bool {
	switch {
	case cmd.verb() == cmdSet:
		return s.client(fPhase, c) == acquiring && (cmd.age() == 0 || x.has(LateVote))
	case cmd.verb() == cmdExtend && cmd.age() == 0:
		return s.client(fExtending, c) == 1 && !queueHas(behind, cmd)
	}
	return false
}

// execute makes a master execute a command. counted says that the client waits for the answer.
func (x *machine) execute(s *state, c, m int, cmd command, counted bool) {
	w := &s.masters[m]
	var vote int
	switch cmd.verb() {
	case cmdSet:
		vote = x.executeSet(w, x.token(c, cmd.age()))
	case cmdExtend:
		vote = x.executeExtend(w, x.token(c, cmd.age()))
	case cmdRelease:
		if owner := fOwner.get(*w); owner == x.token(c, cmd.age()) || x.has(NoCompare) {
			x.free(w)
		}
	}
	if counted {
		x.vote[c].set(w, vote)
	}
}

func (x *machine) executeSet(w *word, token int) (vote int) {
	if fOwner.get(*w) != 0 {
		return refused
	}
	fOwner.set(w, token)
	x.setTimer(w, fKey, x.ttl)
	return x.ballot(w, false)
}

func (x *machine) executeExtend(w *word, token int) (vote int) {
	switch fOwner.get(*w) {
	case token:
		if fKey.left.get(*w) < x.extendTTL || x.has(Shortens) {
			x.setTimer(w, fKey, x.extendTTL)
		}
		return x.ballot(w, x.has(CountQuarantined))
	case 0:
		fOwner.set(w, token)
		x.setTimer(w, fKey, x.extendTTL)
		if x.has(CountReset | CountResetVoters) {
			return x.ballot(w, x.has(CountReset))
		}
	}
	return void
}

// ballot is the vote of an OK. In quarantine it is void, unless always is set.
func (x *machine) ballot(w *word, always bool) int {
	if fQuar.left.get(*w) > 0 && !always {
		return void
	}
	return agreed
}

// setTimer starts a timer again. With 0 ticks it does not run.
func (x *machine) setTimer(w *word, t timer, ticks int) {
	t.left.set(w, ticks)
	t.fast.set(w, x.Fast)
	t.slow.set(w, x.Slow)
	x.trim(w, t)
}

// trim drops the drift that a timer's clock may still have where it can no longer matter,
// so that states that behave alike are equal.
func (x *machine) trim(w *word, t timer) {
	left := t.left.get(*w)
	t.fast.set(w, min(t.fast.get(*w), max(0, left-1)))
	if left == 0 {
		t.slow.set(w, 0)
	}
}

func (x *machine) free(w *word) {
	fOwner.set(w, 0)
	x.setTimer(w, fKey, 0)
}

// normalize drops releases that have nothing to delete and never will: no command that
// could still set their token is on its way.
func (x *machine) normalize(s *state) {
	if x.full || x.has(NoCompare) {
		return
	}
	for m := range x.Masters {
		w := &s.masters[m]
		for c := range x.Clients {
			q, stray := x.queue[c].get(*w), command(x.stray[c].get(*w))
			for q != 0 && x.idleRelease(*w, c, queueHead(q)) && (stray == 0 || stray.verb() == cmdRelease) {
				q >>= commandBits
			}
			x.queue[c].set(w, q)
			if stray != 0 && !x.has(OneToken) && x.idleRelease(*w, c, stray) {
				x.stray[c].set(w, 0)
			}
		}
	}
}

func (x *machine) idleRelease(w word, c int, cmd command) bool {
	return cmd.verb() == cmdRelease && fOwner.get(w) != x.token(c, cmd.age())
}
