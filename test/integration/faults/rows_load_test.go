package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// loadRows are about large numbers. These are smaller than in the list unless
// REDQUORUM_FAULTS_LONG is set.
func loadRows() []row {
	contend, keys, times, held, heldTTL := 3*time.Second, 1_000, 1, 2_000, 8*time.Second
	if longRows {
		contend, keys, times, held, heldTTL = time.Minute, 10_000, 10, 100_000, time.Minute
	}
	return []row{{
		fault:  "200 contenders on one key" + during(contend),
		expect: "progress for everybody, fairness reported, no leak",
		alone:  true,
		run: func(r *run) {
			const clients, each = 4, 50
			for i := range clients {
				s := spec{Seed: uint64(i), TTL: 2 * rowTTL, Timeout: settleBound / 4, URLs: r.m.URLs(), Register: r.register.listener.Addr().String()}
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
		alone:  true,
		run: func(r *run) {
			const clients = 2
			for i := range clients {
				s := spec{Seed: uint64(i), TTL: 2 * rowTTL, Timeout: settleBound / 4, URLs: r.m.URLs()}
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
			for range times {
				r.progress(now(), 5)
			}
			r.goesOn()
			r.noteWorst(func(done) bool { return true })
		},
	}, {
		fault:  fmt.Sprintf("%d held locks, two masters killed", held),
		expect: "all are kept; none is lost; each is renewed as often as its TTL asks for, and hardly more",
		alone:  true,
		run: func(r *run) {
			r.client(spec{
				TTL: heldTTL, Timeout: settleBound / 4, URLs: r.m.URLs(),
				Workers: []worker{{Do: doMany, Keys: []string{"held:"}, Count: held}},
			})
			r.allHeld(1, held)
			r.fault(func() error { return r.m.Kill(1, 2) }, 1, 2)
			before := r.scriptCalls(0)
			time.Sleep(heldTTL + heldTTL/2) // every one has to be renewed several times
			r.allHeld(1, held)
			r.healAt = now()
			r.goesOn()
			// A renewal is due every third of the TTL, up to a tenth of that earlier at random,
			// and once more at the edges. A tenth more allows for retries.
			lasted := r.healAt.sub(r.faultIn)
			most := float64(held) * (1 + lasted.Seconds()/(heldTTL.Seconds()/3*0.9)) * 1.1
			renewals := r.scriptCalls(0) - before
			if float64(renewals) > most {
				r.Errorf("a master was asked to renew %d times in %v, want %.0f at most", renewals, lasted, most)
			}
			r.note = fmt.Sprintf("for %v; %.0f renewals/s", lasted.Round(time.Second), float64(renewals)/lasted.Seconds())
		},
	}}
}

// scriptCalls returns how many scripts a master has been asked to run.
func (r *run) scriptCalls(i int) (n int) {
	r.Helper()
	info, err := redis.String(r.m.Do(i, "INFO", "commandstats"))
	r.must(err)
	for line := range strings.Lines(info) {
		for _, command := range []string{"cmdstat_eval:", "cmdstat_evalsha:"} {
			if rest, ok := strings.CutPrefix(line, command+"calls="); ok {
				calls, _, _ := strings.Cut(rest, ",")
				more, err := strconv.Atoi(calls)
				r.must(err)
				n += more
			}
		}
	}
	return n
}

func during(d time.Duration) string { return fmt.Sprintf(" for %v", d) }

// allHeld waits until a worker of doMany has found n locks held, the given number of times from
// now on.
func (r *run) allHeld(times, n int) {
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
