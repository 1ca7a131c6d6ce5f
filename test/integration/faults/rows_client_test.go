package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// clientRows are about clients, and about what operators do.
func clientRows() []row {
	return []row{{
		fault:  "client frozen longer than its TTL, in the middle of everything",
		expect: "what it was about to get fails, what it held is lost; the others go on, and never beside it",
		run: func(r *run) {
			// A client that is stopped between its check of the lock and its write writes later.
			// The register refuses that because of its token.
			r.steady(func(s *spec) { s.TTL = rowTTL / 2 })
			r.fault(func() error { return r.children[0].freeze() })
			r.specs[0].Idle = true
			time.Sleep(rowTTL) // the fault lasts that long
			r.progress(now(), 10)
			r.heal(func() error { return r.children[0].Thaw() })
			r.specs[0].Idle = false
			r.recovers(true)
			r.onlyLostBy(0, 0)
			r.noteWorst(func(d done) bool { return d.client == 1 })
		},
	}, {
		fault:  "client frozen longer than its TTL that writes without a look at its lock",
		expect: "its context has ended; a fenced write is rejected",
		run: func(r *run) {
			client := func(do string) spec {
				return spec{
					TTL: rowTTL / 2, URLs: r.m.URLs(), Register: r.register.listener.Addr().String(), Fencing: true,
					Workers: []worker{{Do: do, Keys: []string{"lock"}, Pace: 10 * time.Millisecond}},
				}
			}
			stopped := r.client(client(doPaused))
			if !r.history.await(settleBound, func() bool { return len(r.history.holds) == 1 }) {
				r.Fatal("the client did not get the lock")
			}
			r.client(client(doHot))
			r.fault(stopped.freeze)
			r.progress(r.faultIn, 1)
			r.must(stopped.Order(order{Do: "act"}))
			r.heal(stopped.Thaw)
			acts := r.awaitOps(1, func(d done) bool { return d.Op == opAct })
			if len(acts) != 1 || acts[0].Failed != failedLost {
				r.Errorf("the client that was frozen acted with its context alive: %+v", acts)
			} else if acts[0].Text != "" {
				r.Error("its write was accepted in spite of the newer token")
			}
		},
	}, {
		fault:  "SIGKILL of a client",
		expect: "what it held is free after its TTL; the others go on",
		run: func(r *run) {
			r.steady()
			heir := r.client(spec{
				TTL: rowTTL, URLs: r.m.URLs(), Idle: true,
				Workers: []worker{{Do: doHot, Keys: []string{"held:0"}, Pace: 10 * time.Millisecond}},
			})
			r.litter = rowTTL
			r.queues = true // it may have waited
			first := r.specs[0]
			r.fault(r.children[0].Kill)
			r.specs[heir.number].Idle = false // it gets what the other one held
			r.progress(r.faultIn, 10)
			r.healAt, r.backAt = now(), now()
			first.Workers = first.Workers[:3] // all except the one that holds
			r.client(first)
			r.recovers(true)
			r.noteWorst(func(d done) bool { return d.client == 1 })
		},
	}, {
		fault:  "CLIENT PAUSE WRITE, DEBUG SLEEP",
		expect: "as slow: nothing is felt; what may have been granted late is rolled back",
		setup:  setup{config: redistest.Config{Args: debugCommand()}},
		run: func(r *run) {
			const standstill = 2 * time.Second
			r.steady()
			slept := make(chan error, 1)
			r.fault(func() error {
				err := redistest.PauseWrites(func(cmd string, args ...any) (any, error) { return r.m.Do(1, cmd, args...) }, standstill)
				go func() {
					_, err := r.m.Do(3, "DEBUG", "SLEEP", standstill.Seconds())
					slept <- err
				}()
				return err
			}, 1, 3)
			r.progress(r.faultIn, 60)
			r.must(<-slept)
			r.heal(func() error { return nil })
			r.recovers(true)
			r.litter = rowTTL
			r.unfelt()
		},
	}}
}

// debugCommand allows DEBUG, which needs no permission before Redis 7.
func debugCommand() []string {
	_, version, err := redistest.Find()
	var major int
	if _, scanned := fmt.Sscanf(version, "%d", &major); err != nil || scanned != nil || major < 7 {
		return nil
	}
	return []string{"--enable-debug-command", "local"}
}

// connections returns the numbers of the library's connections on a master.
func (r *run) connections(i int) map[string]bool {
	r.Helper()
	list, err := redis.String(r.m.Do(i, "CLIENT", "LIST", "TYPE", "NORMAL"))
	if err != nil {
		r.Fatalf("master %d: %v", i, err)
	}
	numbers := map[string]bool{}
	for client := range strings.Lines(list) {
		if strings.Contains(client, " name=redquorum ") {
			number, _, _ := strings.Cut(strings.TrimPrefix(client, "id="), " ")
			numbers[number] = true
		}
	}
	return numbers
}
