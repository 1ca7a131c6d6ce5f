package faults

import (
	"fmt"
	"time"
)

// loadRows are about numbers. They are shorter here than in the list unless
// REDQUORUM_FAULTS_LONG asks for the whole of it.
func loadRows() []row {
	contend, keys, held, heldTTL := 3*time.Second, 1_000, 2_000, 8*time.Second
	if longRows {
		contend, keys, held, heldTTL = time.Minute, 10_000, 100_000, time.Minute
	}
	return []row{{
		fault:  "200 contenders on one key" + during(contend),
		expect: "progress for everybody, fairness reported, no leak",
		on:     []kind{processes},
		run: func(r *run) {
			const clients, each = 4, 50
			for i := range clients {
				s := spec{Seed: uint64(i), TTL: 2 * rowTTL, Timeout: settleBound / 4, URLs: r.m.urls(), Register: r.register.listener.Addr().String()}
				for range each {
					s.Workers = append(s.Workers, worker{Do: doHot, Keys: []string{"hot"}, Pace: 10 * time.Millisecond})
				}
				r.client(s)
			}
			r.fault(func() error { return nil })
			time.Sleep(contend)
			r.progress(r.faultIn, 1)
			r.healAt = now()
			sum, squares := 0.0, 0.0
			r.history.mu.Lock()
			for i := range clients {
				for w := range each {
					n := float64(r.history.since(r.faultIn, doer{i, w, opWait}))
					sum, squares = sum+n, squares+n*n
				}
			}
			r.history.mu.Unlock()
			r.note = fmt.Sprintf("%.0f acquisitions/s, Jain fairness %.2f", sum/r.healAt.sub(r.faultIn).Seconds(), sum*sum/(clients*each*squares))
		},
	}, {
		fault:  fmt.Sprintf("%d keys by %d goroutines", keys, keys/10),
		expect: "progress, no leak",
		on:     []kind{processes},
		run: func(r *run) {
			const clients = 2
			for i := range clients {
				s := spec{Seed: uint64(i), TTL: 2 * rowTTL, Timeout: settleBound / 4, URLs: r.m.urls()}
				for w := range keys / 10 / clients {
					j := worker{Do: doOwn, Pace: 500 * time.Millisecond}
					for k := range 10 {
						j.Keys = append(j.Keys, fmt.Sprintf("key:%d:%d:%d", i, w, k))
					}
					s.Workers = append(s.Workers, j)
				}
				r.client(s)
			}
			r.fault(func() error { return nil })
			r.progress(r.faultIn, 5)
			r.goesOn()
			r.noteWorst(func(done) bool { return true })
		},
	}, {
		fault:  fmt.Sprintf("%d held locks, two masters killed", held),
		expect: "all are kept; none is lost",
		on:     []kind{processes},
		run: func(r *run) {
			r.client(spec{
				TTL: heldTTL, Timeout: settleBound / 4, URLs: r.m.urls(),
				Workers: []worker{{Do: doMany, Keys: []string{"held:"}, Count: held}},
			})
			r.rounds(1, held)
			r.fault(func() error { return r.m.kill(1, 2) }, 1, 2)
			time.Sleep(heldTTL + heldTTL/2) // every one has to be renewed several times
			r.rounds(1, held)
			r.healAt = now()
			r.goesOn()
			r.note = fmt.Sprintf("for %v", r.healAt.sub(r.faultIn).Round(time.Second))
		},
	}}
}

func during(d time.Duration) string { return fmt.Sprintf(" for %v", d) }

// rounds waits until a worker of doMany has found n locks held, so many times
// from now on.
func (r *run) rounds(times, n int) {
	r.Helper()
	from := now()
	lost := false
	if !r.history.await(3*time.Minute, func() bool {
		if n := len(r.history.ops); n > 0 {
			lost = r.history.ops[n-1].Failed != ""
		}
		return lost || r.history.since(from, doer{0, 0, opMany}) >= times
	}) || lost {
		r.Fatalf("the %d locks were not held: %s", n, r.lastFailures(0))
	}
}
