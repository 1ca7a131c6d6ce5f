package faults

import (
	"net"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// guardTTL is MaxTTL in rows in which the quarantine must outlast what is held: it is a little
// longer than this.
const guardTTL = 2 * rowTTL

// syncsAtOnce makes masters sync a replica without waiting for further ones.
var syncsAtOnce = setup{config: redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}}}

// guardRows are about masters that have forgotten, or are not what they seem.
func guardRows() []row {
	restart := func(how string, mode redistest.AppendOnly) row {
		return row{
			fault:  "one master restarts " + how + ", two are down",
			expect: "abstains for Q, then votes again; without it no quorum, with it one",
			level:  levelStandard,
			setup:  setup{config: redistest.Config{AppendOnly: mode}},
			run: func(r *run) {
				r.steady(func(s *spec) { s.MaxTTL = guardTTL })
				r.fault(func() error { return r.m.Restart(true, 4) }, 4)
				restarted := r.faultIn
				r.must(r.m.Kill(0, 1))
				r.faultIn, r.away[0], r.away[1] = now(), true, true
				r.outage(3)
				r.healAt, r.backAt = now(), restarted
				delete(r.away, 4)
				r.recovers(false)
				r.quarantined(r.faultAt)
			},
		}
	}
	return []row{
		restart("empty", redistest.AppendOff),
		restart("with AOF everysec", redistest.AppendEverySec),
		restart("with AOF always", redistest.AppendAlways),
		{
			fault:  "all five restart, standard, with AOF",
			expect: "unavailable for Q, then all vote",
			level:  levelStandard,
			setup:  setup{config: redistest.Config{AppendOnly: redistest.AppendAlways}},
			run:    func(r *run) { r.restartAll(true) },
		}, {
			fault:  "all five restart empty, standard",
			expect: "their clients know the fleet: unavailable for Q, then all vote",
			level:  levelStandard,
			run:    func(r *run) { r.restartAll(false) },
		}, {
			fault:  "all five restart empty, strict",
			expect: "unavailable for Q, then tokens are still higher",
			level:  levelStrict,
			run:    func(r *run) { r.restartAll(false) },
		}, {
			fault:  "REPLICAOF, read-only replica",
			expect: "refused, the reason is named; after REPLICAOF NO ONE it abstains first",
			level:  levelStandard,
			setup:  syncsAtOnce,
			run:    func(r *run) { r.replica("yes") },
		}, {
			fault:  "REPLICAOF, writable replica",
			expect: "as above",
			level:  levelStandard,
			setup:  syncsAtOnce,
			run:    func(r *run) { r.replica("no") },
		}, {
			fault:  "another process on the same address: a replica is promoted",
			expect: "its run_id differs: it abstains",
			level:  levelStandard,
			setup:  setup{lines: true, config: syncsAtOnce.config},
			run: func(r *run) {
				r.steady()
				var promoted instant
				r.fault(func() (err error) { promoted, err = r.m.promote(1); return err }, 1)
				r.progress(now(), 10)
				r.heal(func() error { return nil })
				r.recovers(true)
				r.quarantined(promoted)
				r.litter = rowTTL
				r.unfelt()
			},
		}, {
			fault:  "eviction policy that may evict",
			expect: "refused at dial, the reason is named",
			level:  levelStandard,
			run: func(r *run) {
				r.steady()
				redial := func(policy string) error {
					if _, err := r.m.Do(3, "CONFIG", "SET", "maxmemory-policy", policy); err != nil {
						return err
					}
					_, err := r.m.Do(3, "CLIENT", "KILL", "TYPE", "NORMAL")
					return err
				}
				r.fault(func() error { return redial("volatile-ttl") }, 3)
				r.abstains(3, "volatile-ttl")
				r.progress(now(), 20)
				r.heal(func() error { return redial("noeviction") })
				r.recovers(true)
				r.unfelt()
			},
		}, {
			fault:  "FLUSHALL on one master while locks are held",
			expect: "it loses its vote, and abstains for Q; nothing else is felt",
			level:  levelStandard,
			run:    func(r *run) { r.flush() },
		}, {
			fault:  "FLUSHALL on one master while locks are held, strict",
			expect: "as above",
			level:  levelStrict,
			run:    func(r *run) { r.flush() },
		}, {
			fault:  "the same server at two addresses",
			expect: "one vote, reported",
			level:  levelStandard,
			run:    func(r *run) { r.twins() },
		}, {
			fault:  "two clients with different MaxTTL, number of masters or guard level",
			expect: "an error that names both, nothing is written; a call above MaxTTL is refused",
			level:  levelStandard,
			run:    func(r *run) { r.strangers() },
		},
	}
}

// quarantined checks that a master that has forgotten its locks since began has not voted for at
// least its quarantine. Clients may meet the master before the test does, so began must be an
// earlier instant.
func (r *run) quarantined(began instant) {
	r.Helper()
	least := r.specs[0].MaxTTL
	if least == 0 {
		least = r.specs[0].TTL
	}
	if took := r.backAt.add(r.healed).sub(began); took < least {
		r.Errorf("it voted %v after it had started, want %v at least", took, least)
	}
}

// restartAll restarts all masters at the same time: nothing can be locked until
// they are out of quarantine.
func (r *run) restartAll(keepData bool) {
	r.steady(func(s *spec) { s.MaxTTL = guardTTL })
	r.fault(func() error { return r.m.Restart(keepData, 0, 1, 2, 3, 4) })
	r.outage(3)
	r.healAt, r.backAt = now(), r.faultIn
	r.recovers(true)
	r.quarantined(r.faultAt)
}

// replica makes a master a replica of another, and a master again.
func (r *run) replica(readOnly string) {
	host, port, err := net.SplitHostPort(r.m.cluster.Masters[1].Addr())
	r.must(err)
	r.steady()
	r.fault(func() error {
		if _, err := r.m.Do(0, "CONFIG", "SET", "replica-read-only", readOnly); err != nil {
			return err
		}
		_, err := r.m.Do(0, "REPLICAOF", host, port)
		return err
	}, 0)
	r.abstains(0, "role is slave")
	// Only from then on has it forgotten what it knew.
	r.must(inStep(func(cmd string, args ...any) (any, error) { return r.m.Do(0, cmd, args...) }))
	r.progress(now(), 20)
	r.heal(func() error { _, err := r.m.Do(0, "REPLICAOF", "NO", "ONE"); return err })
	r.recovers(true)
	if readOnly == "yes" {
		r.quarantined(r.healAt)
	} else {
		r.quarantined(r.faultAt) // its marker may be written while it is a replica, which does not vote
	}
	r.litter, r.queues = rowTTL, true // it has copies of the other's queues, which nobody leaves
	r.unfelt()
}

func (r *run) flush() {
	r.steady()
	r.fault(func() error { _, err := r.m.Do(2, "FLUSHALL"); return err }, 2)
	r.abstains(2, "")
	r.progress(now(), 20)
	r.healAt, r.backAt = now(), r.faultIn
	clear(r.away)
	r.recovers(true)
	r.quarantined(r.faultAt)
	r.unfelt()
}

// abstains waits until no client counts a master's vote, and one gives a reason that contains why.
func (r *run) abstains(master int, why string) {
	r.Helper()
	said := ""
	if !r.history.await(settleBound, func() bool {
		for i := range r.children {
			if r.history.usable[i]&(1<<master) != 0 {
				return false
			}
		}
		for _, c := range r.history.changes {
			if c.at > r.faultAt && c.usable&(1<<master) == 0 && len(c.whys) > master && strings.Contains(c.whys[master], why) {
				said = c.whys[master]
			}
		}
		return said != ""
	}) {
		r.history.mu.Lock()
		defer r.history.mu.Unlock()
		r.Fatalf("master %d still votes, or nobody names %q: %v", master, why, r.history.changes)
	}
	r.Logf("master %d abstains: %s", master, said)
}

// twins names one server twice: five addresses lead to four servers.
func (r *run) twins() {
	urls := append([]string(nil), r.m.URLs()[:4]...)
	urls = append(urls, strings.Replace(urls[3], "127.0.0.1", "[::ffff:127.0.0.1]", 1))
	r.twin = true
	r.steady(func(s *spec) { s.URLs, s.MaxTTL = urls, rowTTL })
	voters := func() (n int) {
		for i := range urls {
			if r.history.usable[0]&(1<<i) != 0 {
				n++
			}
		}
		return n
	}
	if !r.history.await(settleBound, func() bool { return voters() == 4 }) {
		r.Fatal("there are not four that vote")
	}
	r.fault(func() error { return r.m.Kill(0, 1) }, 0, 1)
	// Three addresses of five are left, and two servers.
	r.outage(3)
	r.heal(func() error { return r.m.Restart(false, 0) })
	r.away[1] = true
	r.recovers(false)
	r.bounded()
}

// strangers makes clients join whose settings differ from those of the fleet.
func (r *run) strangers() {
	r.steady(func(s *spec) { s.MaxTTL = guardTTL })
	r.fault(func() error { return nil })
	fits := r.specs[0]
	differ := map[string]func(s *spec){
		"maxttl": func(s *spec) { s.MaxTTL = 2 * guardTTL },
		"n":      func(s *spec) { s.URLs = s.URLs[:3] },
		"level":  func(s *spec) { s.Level = levelStrict },
	}
	for what, change := range differ {
		s := fits
		s.Workers = []worker{{Do: doOwn, Keys: []string{"stranger:" + what}, Pace: 50 * time.Millisecond}}
		s.Idle, s.Stranger = true, true
		change(&s)
		c := r.client(s)
		op := r.awaitOps(1, of(c.number))[0]
		if op.Failed != failedNoQuorum {
			r.Errorf("a client with another %s was told %q: %s", what, op.Failed, op.Text)
		}
		r.Logf("another %s: %s", what, op.Text)
		for i := range r.m.URLs() {
			if value, err := r.m.Do(i, "EXISTS", "stranger:"+what); err != nil || value != int64(0) {
				r.Errorf("a client with another %s has written to master %d (%v)", what, i, err)
			}
		}
		r.must(c.end())
	}
	c, err := redlock.Open(r.m.URLs(), redlock.WithMaxTTL(guardTTL), redlock.WithTTL(rowTTL))
	r.must(err)
	if _, err := c.TryLock(r.Context(), "stranger:ttl", redlock.WithTTL(guardTTL+time.Millisecond)); err == nil || !strings.Contains(err.Error(), guardTTL.String()) {
		r.Errorf("a TTL above MaxTTL: %v", err)
	}
	r.must(c.Close())
	r.progress(now(), 10)
	r.healAt = now()
	r.unfelt()
}
