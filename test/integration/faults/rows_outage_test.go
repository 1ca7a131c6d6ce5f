package faults

import (
	"fmt"
	"time"
)

func outageRows() []row {
	return []row{{
		fault:  "SIGKILL of one or two masters mid-lock",
		expect: "lock, extend and unlock go on at the latency of the quorum",
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return r.m.Kill(0) }, 0)
			r.progress(r.faultIn, 10)
			r.must(r.m.Kill(1))
			r.away[1] = true
			r.progress(now(), 30)
			r.heal(func() error { return r.m.Restart(false, 0, 1) })
			r.recovers(true)
			r.unfelt()
		},
	}, {
		fault:  "SIGKILL of three masters",
		expect: "ErrNoQuorum within the bound, with three causes; holders' contexts end by their validity; recovers by itself with one that is back",
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return r.m.Kill(0, 1, 2) }, 0, 1, 2)
			r.outage(3)
			r.heal(func() error { return r.m.Restart(false, 1) })
			r.away[0], r.away[2] = true, true
			r.recovers(false)
			r.must(r.m.Restart(false, 0, 2))
			clear(r.away)
			r.allUsable()
			r.bounded()
		},
	}, {
		fault:  "SIGSTOP of one or two masters",
		expect: "decided at the latency of the quorum from the first operation on; beyond the stall limit they cost nothing; afterwards no key outlives its TTL",
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return r.m.Freeze(1, 3) }, 1, 3)
			r.progress(r.faultIn, 60) // about the stall limit
			r.history.await(settleBound, func() bool { return r.history.usable[0]&(1<<1|1<<3) == 0 })
			r.progress(now(), 20)
			r.heal(func() error { return r.m.Thaw(1, 3) })
			r.stopped = map[int]bool{1: true, 3: true}
			r.recovers(true)
			r.unfelt()
		},
	}, {
		fault:  "SIGSTOP of three masters, and holders and waiters exit before they go on",
		expect: "nobody is held twice; a key may stay for its TTL, never longer",
		run: func(r *run) {
			r.steady()
			// The renewals of these locks are spread over time: some are under way whenever the
			// masters stop.
			spread := spec{TTL: rowTTL, URLs: r.m.URLs()}
			for i := range 24 {
				hold := rowTTL*2/5 + time.Duration(i)*rowTTL/40
				spread.Workers = append(spread.Workers, worker{Do: doHold, Keys: []string{fmt.Sprint("spread:", i)}, Pace: 10 * time.Millisecond, Hold: hold})
			}
			r.client(spread)
			r.progress(now(), 1)
			r.fault(func() error { return r.m.Freeze(0, 1, 2) }, 0, 1, 2)
			for _, c := range r.children {
				r.history.await(settleBound, func() bool { return r.history.usable[c.number]&(1<<0|1<<1|1<<2) == 0 })
			}
			for i, c := range r.children {
				r.must(c.end())
				r.specs[i].Idle = true
			}
			r.heal(func() error { return r.m.Thaw(0, 1, 2) })
			r.litter, r.queues = rowTTL, true           // from now on: the masters execute what they had received
			next := spec{TTL: rowTTL, URLs: r.m.URLs()} // its workers wait no longer than that
			for _, w := range spread.Workers {
				next.Workers = append(next.Workers, worker{Do: doHot, Keys: w.Keys, Pace: 10 * time.Millisecond, Hold: time.Millisecond})
			}
			r.client(next)
			r.progress(r.backAt, 1)
			r.bounded()
		},
	}}
}
