package faults

import (
	"fmt"
	"time"
)

func networkRows() []row {
	return []row{{
		fault:  "one master cut off one way: its replies are lost",
		expect: "no vote; nothing is felt; rolled back when it can be reached, keys gone within a TTL",
		setup:  setup{lines: true},
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return r.m.CutReplies(2) }, 2)
			r.progress(r.faultIn, 60)
			r.heal(func() error { return r.m.Heal(2) })
			r.recovers(true)
			r.litter = rowTTL
			r.unfelt()
		},
	}, {
		fault:  "two masters cut off both ways",
		expect: "as above",
		setup:  setup{lines: true},
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return r.m.Cut(2, 4) }, 2, 4)
			r.progress(r.faultIn, 60)
			r.heal(func() error { return r.m.Heal(2, 4) })
			r.recovers(true)
			r.litter = rowTTL
			r.unfelt()
		},
	}, {
		fault:  "half-open connections: nothing comes through on those to one master",
		expect: "nothing is felt; the connections are replaced, nobody starves",
		setup:  setup{lines: true},
		run: func(r *run) {
			r.steady()
			before := r.connections(2)
			r.fault(func() error { return r.m.HalfOpen(2) }, 2)
			r.backAt = r.faultAt
			r.awaitReplaced(2, before)
			r.backBy(now())
			r.progress(now(), 20)
			r.litter = rowTTL
			r.unfelt()
		},
	}, {
		fault:  "connections to three masters break with the answers that were on their way, 30 times",
		expect: "no release says that its lock was lost, and none is; nothing is left",
		setup:  setup{lines: true},
		run: func(r *run) {
			r.steady(func(s *spec) {
				s.Workers = append(s.Workers, worker{Do: doDo, Keys: []string{fmt.Sprintf("do:%d", s.Seed)}, Pace: time.Millisecond})
			})
			r.fault(func() error { return nil }, 0, 1, 2)
			lost := 0
			for range 30 {
				before := r.m.lines[0].Garbled()
				for i := range 3 {
					r.m.lines[i].Garble(0, "")
				}
				for deadline := time.Now().Add(settleBound); r.m.lines[0].Garbled() == before && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				lost += r.m.lines[0].Garbled() - before
				r.must(r.m.Heal(0, 1, 2))
				r.progress(now(), 3)
				time.Sleep(300 * time.Millisecond) // a connection that breaks sooner is dialled with a pause
			}
			r.heal(func() error { return nil })
			r.recovers(true)
			r.queues = true
			r.bounded()
			for _, d := range r.history.operations(func(d done) bool { return d.Op == opUnlock && d.Failed == failedLost }) {
				r.Errorf("client %d: unlock, begun %v after the fault: %s", d.client, d.At.sub(r.faultAt), d.Text)
			}
			for _, h := range r.history.lost() {
				r.Errorf("client %d lost %v: %s", h.client, h.keys, h.why)
			}
			r.note = fmt.Sprintf("%d connections of one master", lost)
		},
	}, {
		fault:  "one master 2 s slow",
		expect: "latency is unaffected; its late grants are released",
		setup:  setup{lines: true},
		run: func(r *run) {
			const late = 2 * time.Second
			r.steady()
			r.fault(func() error { return r.m.slow(late, 0) }, 0)
			r.progress(r.faultIn, 100)
			r.heal(func() error { return r.m.Heal(0) })
			r.recovers(true)
			r.litter = rowTTL + late
			r.unfelt()
		},
	}}
}
