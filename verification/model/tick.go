package model

// tick emits what follows when time passes. All clients' clocks move by one tick, each
// master's in every way that it may.
func (x *machine) tick(s *state) {
	n := *s
	for c := range x.Clients {
		x.clientTick(&n, c)
	}
	x.masterTicks(n, 0, 0)
}

// masterTicks moves the clocks of master m and of those after it, in every combination.
func (x *machine) masterTicks(s state, m int, rates uint16) {
	if m == x.Masters {
		x.next(&s, action{kind: actTick, rates: rates})
		return
	}
	before := s.masters[m]
	for rate := rateNormal; rate <= rateSlow; rate++ {
		if w, ok := x.advance(before, rate); ok {
			s.masters[m] = w
			x.masterTicks(s, m+1, rates|uint16(rate)<<(2*m))
		}
	}
}

// advance moves one master's clock. It reports false if the clock may not move at this rate,
// or if the rate makes no difference.
func (x *machine) advance(w word, rate int) (word, bool) {
	able := rate == rateNormal
	for _, t := range [...]timer{fKey, fQuar} {
		left := t.left.get(w)
		if left == 0 {
			continue
		}
		switch rate {
		case rateNormal:
			t.left.set(&w, left-1)
		case rateFast:
			if left == 1 { // it ends in the first half of the tick
				t.left.set(&w, 0)
				break
			}
			fast := t.fast.get(w)
			if fast == 0 {
				return w, false
			}
			t.left.set(&w, left-2)
			t.fast.set(&w, fast-1)
			able = true
		case rateSlow:
			slow := t.slow.get(w)
			if slow == 0 {
				return w, false
			}
			t.slow.set(&w, slow-1)
			able = true
		}
		x.trim(&w, t)
	}
	if fKey.left.get(w) == 0 {
		x.free(&w)
	}
	return w, able
}

// clientTick moves one client's clock. An attempt that can no longer get any validity is
// given up; a hold without validity ends.
func (x *machine) clientTick(s *state, c int) {
	switch s.client(fPhase, c) {
	case acquiring:
		elapsed := s.client(fElapsed, c) + 1
		s.setClient(fElapsed, c, elapsed)
		if elapsed >= x.ttl-x.allowance() {
			x.end(s, c)
		}
	case holding:
		if s.client(fExtending, c) == 1 {
			elapsed := s.client(fElapsed, c) + 1
			s.setClient(fElapsed, c, elapsed)
			if elapsed >= x.extendTTL-x.allowance() {
				x.endExtension(s, c)
			}
		}
		left := max(0, s.client(fLeft, c)-1)
		s.setClient(fLeft, c, left)
		if left == 0 && !(x.has(TimerMoved) && s.client(fExtending, c) == 1) {
			x.end(s, c)
		}
	}
}
