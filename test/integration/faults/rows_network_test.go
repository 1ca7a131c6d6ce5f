package faults

import "time"

func networkRows() []row {
	return []row{{
		fault:  "one master cut off one way: its replies are lost",
		expect: "no vote; nothing is felt; rolled back when it can be reached, keys gone within a TTL",
		on:     both,
		setup:  setup{lines: true, drops: true},
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
		on:     both,
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
		on:     both,
		setup:  setup{lines: true, drops: true},
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
		fault:  "one master 2 s slow",
		expect: "latency is unaffected; its late grants are released",
		setup:  setup{lines: true},
		run: func(r *run) {
			const late = 2 * time.Second
			r.steady()
			r.fault(func() error { return r.m.(*servers).slow(late, 0) }, 0)
			r.progress(r.faultIn, 100)
			r.heal(func() error { return r.m.Heal(0) })
			r.recovers(true)
			r.litter = rowTTL + late
			r.unfelt()
		},
	}}
}
