package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

// clockRows are about wall clocks that are off, or are set.
func clockRows() []row {
	movable := setup{config: redistest.Config{MovableClock: true}}
	return []row{{
		fault:  "masters' clocks +60 s and −1 h, strict",
		expect: "refused in both directions; with three of them no quorum",
		level:  levelStrict,
		setup:  movable,
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return r.setClocks(time.Minute, 1) }, 1)
			r.troubled[2], r.troubled[3] = true, true
			r.must(r.setClocks(-time.Hour, 2))
			r.faultIn = now()
			r.progress(now(), 20)
			r.goesOn()
			r.quick()
			r.faultAt = now()
			r.must(r.setClocks(time.Minute, 3))
			r.faultIn = now()
			r.outage(3)
			r.heal(func() error { return r.setClocks(0, 1, 2, 3) })
			r.recovers(true)
			r.bounded()
		},
	}, {
		fault:  "a master's clock +60 s, standard",
		expect: "reported; locks that nobody else wants stay exclusive, and fenced writes in order",
		level:  levelStandard,
		setup:  movable,
		run: func(r *run) {
			r.jumps = true
			r.steady()
			r.fault(func() error { return r.setClocks(time.Minute, 1) }, 1)
			r.reported()
			r.healAt = now()
			r.must(r.setClocks(0, 1))
			r.unfelt()
		},
	}, {
		fault:  "a master's clock jumps +60 s for 0.3 s and back, again and again, standard",
		expect: "reported as soon as a reading, of which there is one every 5 s or less, meets a jump; the rest as above",
		level:  levelStandard,
		setup:  movable,
		run: func(r *run) {
			r.jumps = true
			r.steady()
			r.fault(func() error { return nil }, 1)
			over, jumped := make(chan struct{}), make(chan error, 1)
			go func() {
				for {
					for _, jump := range []struct{ to, last time.Duration }{{time.Minute, 300 * time.Millisecond}, {0, 50 * time.Millisecond}} {
						if err := r.setClocks(jump.to, 1); err != nil {
							jumped <- err
							return
						}
						time.Sleep(jump.last)
					}
					select {
					case <-over:
						jumped <- nil
						return
					default:
					}
				}
			}()
			r.reported()
			close(over)
			r.must(<-jumped)
			r.healAt = now()
			r.unfelt()
		},
	}, {
		fault:  "masters' clocks jump +60 s for 0.3 s and back, strict",
		expect: "nobody gets what is held: refused by the lease record",
		level:  levelStrict,
		setup:  movable,
		run: func(r *run) {
			// Renewals are far apart: the next may be too late to notice.
			r.steady(func(s *spec) { s.TTL = 2 * rowTTL })
			r.fault(func() error {
				if err := r.setClocks(time.Minute, 0, 1, 2); err != nil {
					return err
				}
				time.Sleep(300 * time.Millisecond) // the jump is that long
				gone := 0
				for i := range 3 {
					if there, err := r.m.Do(i, "EXISTS", "held:0"); err == nil && there == int64(0) {
						gone++
					}
				}
				if gone < 3 {
					r.Errorf("the jump has deleted the key on %d masters, want 3", gone)
				}
				return r.setClocks(0, 0, 1, 2)
			}, 0, 1, 2)
			// A client that starts now has seen nothing of it, and wants what the others hold.
			eager := spec{TTL: 2 * rowTTL, URLs: r.m.URLs(), Level: r.level, Fencing: true, Stranger: true, Idle: true}
			for range 4 {
				eager.Workers = append(eager.Workers, worker{Do: doOwn, Keys: []string{"held:0", "held:1"}, Pace: 2 * time.Millisecond})
			}
			r.client(eager)
			r.healAt, r.backAt = r.faultIn, r.faultIn
			clear(r.away)
			r.recovers(true)
			time.Sleep(2 * rowTTL) // a grant that is too early would come by then
			r.litter = 2 * rowTTL
		},
	}, {
		fault:  "a client's clock +1 h and −1 h, strict",
		expect: "an error that names the difference; nothing is held",
		level:  levelStrict,
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return nil })
			for _, offset := range []time.Duration{time.Hour, -time.Hour} {
				off := r.client(spec{
					TTL: rowTTL, URLs: r.m.URLs(), Level: r.level, Clock: offset, Stranger: true, Idle: true,
					Workers: []worker{{Do: doOwn, Keys: []string{"off"}, Pace: 50 * time.Millisecond}},
				})
				r.wantClockRefusal(offset, r.awaitOps(3, of(off.number)))
				r.must(off.end())
			}
			r.progress(now(), 10)
			r.healAt = now()
			r.unfelt()
		},
	}, {
		fault:  "a client's clock is set +1 h or −1 h while it holds, strict",
		expect: "an error that names the difference; what it holds ends by its validity; the other goes on, and both when it is set right",
		level:  levelStrict,
		run: func(r *run) {
			r.steady(func(s *spec) { s.Movable = true })
			began := now()
			for _, offset := range []time.Duration{time.Hour, -time.Hour} {
				r.awaitHeld(0)
				r.fault(func() error { return r.children[0].Order(order{Do: "step", Clock: offset}) })
				r.specs[0].Idle = true
				r.awaitLost(0, r.faultIn)
				r.wantClockRefusal(offset, r.awaitOps(3, func(o done) bool {
					return o.client == 0 && o.Op == opLock && o.Failed != "" && o.At > r.faultIn && !cutByStep(o.Text)
				}))
				r.progress(now(), 10)
				r.noteWorst(func(d done) bool { return d.client == 1 })
				r.heal(func() error { return r.children[0].Order(order{Do: "step"}) })
				r.specs[0].Idle = false
				r.recovers(false)
			}
			r.onlyLostBy(0, 0)
			failed := r.settleExcuses(r.history.operations(func(d done) bool { return d.client == 1 && d.Failed != "" && d.At > began }))
			if len(failed) > 0 {
				r.Errorf("client 1, whose clock was not set, failed %d times: %s: %s", len(failed), failed[0].Op, failed[0].Text)
			}
		},
	}, {
		fault:  "a client's clock +1 h, −1 h, and set forward while it holds, standard",
		expect: "a constant difference is not felt; a step forward ends the hold early",
		level:  levelStandard,
		run: func(r *run) {
			offset := time.Hour
			r.steady(func(s *spec) {
				s.Clock, s.Movable = offset, true
				offset = -offset
				// Its tokens come from its clock: another row is about those.
				s.Fencing = false
			})
			r.fault(func() error { return nil })
			r.progress(now(), 20)
			r.healAt = now()
			r.unfelt()

			stepped := now()
			r.must(r.children[0].Order(order{Do: "step", Clock: 2 * time.Hour}))
			r.awaitLost(0, stepped)
			r.onlyLostBy(0, stepped)
			r.progress(now(), 5)
		},
	}, {
		fault:  "a client's wall clock is set 60 s back, and later 30 s forward while it holds, as after a pause that only it shows",
		expect: "the step back is not felt; with the step forward the hold ends at once",
		level:  levelStandard,
		run: func(r *run) {
			// Renewals are far apart: the next would notice too.
			r.steady(func(s *spec) { s.TTL, s.Movable, s.Fencing = 4*rowTTL, true, false })
			r.fault(func() error { return r.children[0].Order(order{Do: "step", Clock: -time.Minute}) })
			r.progress(now(), 20)
			r.healAt = now()
			r.unfelt()

			r.awaitHeld(0)
			stepped := now()
			r.must(r.children[0].Order(order{Do: "step", Clock: -30 * time.Second}))
			r.awaitLost(0, stepped)
			r.onlyLostBy(0, stepped)
			r.progress(now(), 5)
		},
	}}
}

// awaitHeld waits until a client has the lock that it holds all the time.
func (r *run) awaitHeld(client int) {
	r.Helper()
	if !r.history.awaitHold(func(h *held) bool { return h.client == client && h.to == 0 && h.keys[0] == fmt.Sprint("held:", client) }) {
		r.Fatalf("within %v it does not hold", settleBound)
	}
}

// awaitLost waits until the client has noticed, after from, that it lost that lock.
func (r *run) awaitLost(client int, from instant) {
	r.Helper()
	if !r.history.awaitHold(func(h *held) bool {
		return h.client == client && h.lost && h.noticed > from && h.keys[0] == fmt.Sprint("held:", client)
	}) {
		r.Error("its clock was set, and it still holds")
	}
}

// cutByStep reports whether a difference was measured while the clock was set: its uncertainty is
// about half of the step. The next look measures it right.
func cutByStep(text string) bool {
	return strings.Contains(text, "± 30m0s") || strings.Contains(text, "± 29m59")
}

// wantClockRefusal fails unless a client whose clock is off was refused with the difference.
func (r *run) wantClockRefusal(offset time.Duration, ops []done) {
	r.Helper()
	for _, o := range ops {
		if o.Failed != failedNoQuorum || !strings.Contains(o.Text, "h0m") && !strings.Contains(o.Text, "59m") {
			r.Errorf("its clock is off by %v, it was told %q: %s", offset, o.Failed, o.Text)
		}
	}
	r.Log(ops[0].Text)
}

// reported waits until every client has reported that a master's clock went forward.
func (r *run) reported() {
	r.Helper()
	forward := func(said string) bool { return strings.Contains(said, "forward") }
	all := r.history.await(2*settleBound, func() bool {
		return slices.ContainsFunc(r.history.clocks[0], forward) && slices.ContainsFunc(r.history.clocks[1], forward)
	})
	r.history.mu.Lock()
	defer r.history.mu.Unlock()
	if !all {
		r.Errorf("within %v not every client reported it: %v", 2*settleBound, r.history.clocks)
	}
	r.Log(r.history.clocks)
}

func (r *run) setClocks(offset time.Duration, which ...int) error {
	for _, i := range which {
		if err := r.m.cluster.Masters[i].SetClock(offset); err != nil {
			return err
		}
	}
	return nil
}
