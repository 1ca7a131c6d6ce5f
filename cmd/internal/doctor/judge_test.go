package doctor

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/looktest"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// healthy returns a fleet without a fault.
func healthy(n int) []Facts {
	facts := make([]Facts, n)
	for i := range facts {
		guardFacts := looktest.Voter(fmt.Sprintf("10.0.0.%d:6379", i+1))
		facts[i] = Facts{
			GuardFacts: guardFacts, RoundTrips: []time.Duration{180 * time.Microsecond, 200 * time.Microsecond, 1500 * time.Microsecond},
			Info: map[string]string{
				"redis_version": "7.0.15", "role": "master", "run_id": guardFacts.Info.RunID, "redis_mode": "standalone", "maxmemory": "0", "maxmemory_policy": "noeviction",
				"connected_slaves": "0", "aof_enabled": "1",
			},
			Config: map[string]string{"appendonly": "yes", "appendfsync": "always"},
			User:   "locks", HasClock: true, Offset: drift.Span{High: 300 * time.Microsecond},
		}
	}
	return facts
}

// down makes a master one that cannot be asked.
func down(f *Facts, why error) { f.GuardFacts = guard.Facts{Master: f.GuardFacts.Master, Err: why} }

// judge judges facts as a client with these flags; 0: without the flag.
func judge(facts []Facts, maxTTL, skew time.Duration) (*observe.Verdict, []Finding) {
	var guardFacts []guard.Facts
	for i := range facts {
		guardFacts = append(guardFacts, facts[i].GuardFacts)
	}
	look := looktest.LookAs(maxTTL, skew, guardFacts...)
	for i := range facts {
		look.Refuses[i] = facts[i].Refuses
		facts[i].take(look, i)
	}
	return Judge(look, facts)
}

func found(facts []Facts) []Finding {
	_, list := judge(facts, 0, 0)
	return list
}

// ofAnother is what a guarded client reads when the marker's key has a value of another type.
var ofAnother = guard.Marker{Verdict: guard.WrongType, Type: "string", Clock: looktest.Reading()}

// lost makes a master lose its marker.
func lost(f *Facts) {
	f.GuardFacts.Marker = guard.Marker{Verdict: guard.Missing, Clock: looktest.Reading()}
}

func TestEachFaultIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(f []Facts)
		want   string // severity and code of each finding
		says   string // what one of them says, as well
	}{
		{"twice", func(f []Facts) {
			f[3].Info["run_id"] = f[0].Info["run_id"]
			f[3].GuardFacts.Info.RunID, f[3].GuardFacts.Marker.Run = f[0].GuardFacts.Info.RunID, f[0].GuardFacts.Marker.Run
		}, "serious duplicate", "is the same server as 10.0.0.1:6379"},
		{"evicts", func(f []Facts) { f[1].Info["maxmemory_policy"] = "volatile-ttl" }, "serious may-evict", "maxmemory-policy volatile-ttl"},
		{"nothing kept, unguarded", func(f []Facts) {
			for i := range f {
				lost(&f[i])
			}
			f[1].Config["appendonly"] = "no"
		}, "warning forgets, note no-fleet", "persistence: none"},
		{"CONFIG denied, nothing kept", func(f []Facts) {
			f[1].Config, f[1].ConfigErr, f[1].Info["aof_enabled"] = nil, errors.New("NOPERM"), "0"
		}, "note forgets", ""},
		{"adopted", func(f []Facts) {
			m := &f[1].GuardFacts.Marker
			m.How, m.By, m.Since = guard.HowAdopted, "user@host/1", "1000"
		}, "note adopted", "had no marker at 1970-01-01T00:00:01Z, and was taken into a fleet that votes, by user@host/1"},
		{"another list", func(f []Facts) {
			f[1].GuardFacts.OtherList = guard.OtherList{Digest: "0123", Age: 30 * time.Second}
		}, "note other-list", "used by a client with another list of masters, 30s ago at most"},
		{"commands renamed away", func(f []Facts) {
			f[1].Missing = []Permission{{Rule: "PUBLISH", For: acl.Queue, Gone: true}, {Rule: "+zadd", For: acl.Readers}}
		}, "warning permission, warning command-gone", "has no command PUBLISH"},
		{"INFO in a script that does not end", func(f []Facts) {
			f[1].Info, f[1].InfoErr = nil, redis.Error("BUSY Redis is busy running a script.")
		}, "warning info-denied", "where it has written (UNKILLABLE) wait, or kill the process."},
		{"CONFIG renamed away", func(f []Facts) {
			f[1].Config, f[1].ConfigErr = nil, redis.Error("ERR unknown command 'CONFIG', with args beginning with: 'GET' ")
		}, "note persistence-unknown", "take rename-command out of its configuration"},
		{"user unknown", func(f []Facts) {
			f[1].User, f[1].Missing = "", []Permission{{Rule: "+set", For: acl.Locks, Vital: true}}
		}, "serious permission", "ACL SETUSER USER +set"},
		{"clock a little off", func(f []Facts) { f[1].Offset = drift.Span{Low: 200 * time.Millisecond, High: 210 * time.Millisecond} }, "note clock-off", "off ours by +205ms ± 5ms"},
		{"clock off", func(f []Facts) { f[1].Offset = drift.Span{Low: -3605 * time.Second, High: -3600 * time.Second} }, "warning clock-off", "off ours by -1h0m2.5s"},
		{"clock perhaps off", func(f []Facts) { f[1].Offset = drift.Span{Low: -time.Second, High: 3 * time.Second} }, "", ""},
		{"clock off, strict", func(f []Facts) {
			for i := range f {
				f[i].GuardFacts.Marker.LevelIs = "strict"
			}
			f[1].Offset = drift.Span{Low: 600 * time.Millisecond, High: 610 * time.Millisecond}
		}, "serious clock-off", "the master does not vote"},
		{"clock jumps", func(f []Facts) { f[1].Deviation = "stepped forward by 1m0s" }, "serious clock-jumps", "has a clock that stepped forward by 1m0s while it was watched"},
		{"marker denied", func(f []Facts) {
			f[1].GuardFacts.Marker, f[1].GuardFacts.MarkerErr = guard.Marker{}, errors.New("NOPERM")
		}, "warning marker-unreadable", "Permit the guard's commands on it"},
		{"other level", func(f []Facts) { f[1].GuardFacts.Marker.LevelIs = "strict" }, "serious other-fleet", "is of another fleet (5 masters, strict, longest TTL 1m0s) than the others (5 masters, standard, longest TTL 1m0s)"},
		{"newer version", func(f []Facts) { f[1].GuardFacts.Marker.Version = "9" }, "serious other-fleet", "Use the version of redlock that the other clients of it use."},
		{"no number", func(f []Facts) { f[1].GuardFacts.Marker.Masters = "all" }, "serious other-fleet", "is of another fleet (all masters, MaxTTL 1m0s, level standard)"},
		{"nothing but something else", func(f []Facts) {
			for i := range f {
				f[i].GuardFacts.Marker = ofAnother
			}
		}, "serious no-hash", ""},
		{"marker lost, as was seen before", func(f []Facts) {
			lost(&f[1])
			f[1].GuardFacts.Marker.Sighted = 90 * time.Second
		}, "warning no-marker", "and has been seen so since " + time.Unix(0, looktest.JudgedAt().Wall().Add(-90*time.Second).UnixNano()).Format(time.TimeOnly)},
		{"list too short", func(f []Facts) {
			for i := range f {
				f[i].GuardFacts.Marker.Masters = "7"
			}
		}, "serious other-number", "is of a fleet of 7 masters, here are 5"},
		{"restarted", func(f []Facts) {
			f[1].GuardFacts.Marker.Verdict, f[1].GuardFacts.Marker.Since = guard.Restarted, looktest.Millis(0)
		}, "warning restarted", "was restarted since"},
		{"evicted", func(f []Facts) {
			f[1].GuardFacts.Marker.Verdict, f[1].GuardFacts.Marker.Since, f[1].GuardFacts.Marker.How = guard.Restarted, looktest.Millis(0), guard.HowEvicted
		}, "warning restarted", "has evicted keys since"},
		{"quarantined", func(f []Facts) { f[1].GuardFacts.Marker.Since = looktest.Millis(-50 * time.Second) }, "warning quarantine", "may have forgotten locks; it votes again at "},
		{"since tomorrow", func(f []Facts) {
			f[1].GuardFacts.Marker.Verdict, f[1].GuardFacts.Marker.Since = guard.Reset, looktest.Millis(0)
		}, "warning restarted", "had its clock set back since"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := healthy(5)
			test.change(facts)
			var got []string
			var text strings.Builder
			found := found(facts)
			for _, f := range found {
				got = append(got, f.Severity.String()+" "+f.Code)
				text.WriteString(f.What + "\n" + f.Why + "\n" + f.Do + "\n")
				if f.What == "" || f.Why == "" || f.Do == "" {
					t.Errorf("not said: %+v", f)
				}
			}
			if strings.Join(got, ", ") != test.want || !strings.Contains(text.String(), test.says) {
				t.Errorf("%q, want %q, and %q in\n%s", got, test.want, test.says, text.String())
			}
		})
	}
}

func TestTheLongestTTLIsThatOfTheFlags(t *testing.T) {
	t.Parallel()
	v, found := judge(healthy(5), 30*time.Second, 0)
	const what = "is of a fleet whose longest TTL is 1m0s, --max-ttl says 30s"
	if v.CanLock || len(found) != 1 || found[0].Code != "other-max-ttl" || found[0].What != what {
		t.Errorf("%+v, %+v", v, found)
	}
}

func TestTheSameFindingOnSeveralMastersIsOne(t *testing.T) {
	t.Parallel()
	facts := healthy(5)
	facts[1].Info["maxmemory_policy"], facts[3].Info["maxmemory_policy"] = "allkeys-lru", "allkeys-lru"
	found := found(facts)
	if len(found) != 1 || !slices.Equal(found[0].Masters, []string{"10.0.0.2:6379", "10.0.0.4:6379"}) {
		t.Errorf("%+v", found)
	}
	if worst, ok := Worst(found); worst != Serious || !ok {
		t.Error(worst, ok)
	}
	if _, ok := Worst(nil); ok {
		t.Error("no findings are some")
	}
}

func TestClusterMembersAndSentinelsHaveOneFindingEach(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"cluster":  "is a member of a Redis Cluster, which moves keys between its members and replaces them by replicas",
		"sentinel": "is a Sentinel, which keeps no keys",
		"odd":      "runs in mode odd, want standalone",
	} {
		facts := healthy(5)
		f := &facts[1]
		f.Info["redis_mode"], f.Info["role"], f.Info["maxmemory_policy"] = mode, "slave", "allkeys-lru"
		f.GuardFacts.Info.Mode, f.GuardFacts.Info.Role = mode, "slave"
		f.GuardFacts.Marker, f.GuardFacts.MarkerErr, f.Config, f.ConfigErr = guard.Marker{}, errors.New("CLUSTERDOWN"), nil, errors.New("ERR unknown command")
		v, found := judge(facts, 0, 0)
		if len(found) != 1 || found[0].Code != "not-standalone" || found[0].Severity != Serious || found[0].What != want || !v.CanLock || v.Votes != 4 {
			t.Errorf("%s: %+v, %+v", mode, v, found)
		}
	}
}

// coded returns the finding with the code; the zero Finding: there is none.
func coded(found []Finding, code string) Finding {
	for _, f := range found {
		if f.Code == code {
			return f
		}
	}
	return Finding{}
}

func TestDoctorWarnsOfMinReplicasToWriteZero(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ replicas, least, want string }{
		{"0", "0", ""},
		{"1", "", ""}, // CONFIG GET is denied
		{"1", "0", "has replicas, and min-replicas-to-write is 0"},
	} {
		facts := healthy(5)
		f := &facts[1]
		f.Info["connected_slaves"], f.Config["min-replicas-to-write"] = test.replicas, test.least
		found := found(facts)
		got := coded(found, "min-replicas")
		if got.What != test.want || test.want != "" && (got.Severity != Warning || len(found) != 1) {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}

func TestABacklogThatIsFreedIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ replicas, backlog, ttl, want string }{
		{"0", "0", "3600", ""},
		{"1", "1", "0", ""},
		{"1", "1", "3600", "has replicas, and repl-backlog-ttl is 3600, want 0"},
		{"0", "1", "60", "had replicas and keeps a backlog for them, and repl-backlog-ttl is 60, want 0"},
	} {
		facts := healthy(5)
		f := &facts[1]
		f.Info["connected_slaves"], f.Info["repl_backlog_active"], f.Config["repl-backlog-ttl"] = test.replicas, test.backlog, test.ttl
		found := found(facts)
		got := coded(found, "backlog-ttl")
		if got.What != test.want || test.want != "" && (got.Severity != Warning || !strings.Contains(got.Do, "CONFIG SET repl-backlog-ttl 0")) {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}

func TestAClockThatWasSetAfterTheMarkerWasWrittenIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		since, wall time.Duration // of the marker, before now
		offset      time.Duration // of the master's clock now
		want        string
	}{
		{"off by the same", 2 * time.Hour, time.Hour, -time.Hour, ""},
		{"a round trip", 2 * time.Hour, 2*time.Hour + time.Second, 0, ""},
		{"slow then", 3 * time.Hour, 2 * time.Hour, 0, "has a clock that was set forward by about 1h0m0s after its marker was written"},
		{"slow now", 2 * time.Hour, 2 * time.Hour, -30 * time.Second, "has a clock that was set back by about 30s after its marker was written"},
	} {
		facts := healthy(5)
		f := &facts[1]
		f.GuardFacts.Marker.Since, f.GuardFacts.Marker.Wall = looktest.Millis(-test.since), looktest.Millis(-test.wall)
		f.Offset = drift.Span{Low: test.offset, High: test.offset}
		found := found(facts)
		if got := coded(found, "clock-set"); got.What != test.want || test.want != "" && got.Severity != Warning {
			t.Errorf("%s: %+v", test.name, found)
		}
	}
	for name, change := range map[string]func(f *Facts){
		"declared":           func(f *Facts) { f.GuardFacts.Marker.Since, f.GuardFacts.Marker.Wall = "0", "0" },
		"of version 1":       func(f *Facts) { f.GuardFacts.Marker.Wall = "" },
		"of another process": func(f *Facts) { f.GuardFacts.Marker.Verdict = guard.Restarted },
		"TIME denied":        func(f *Facts) { f.HasClock = false },
	} {
		facts := healthy(5)
		facts[1].GuardFacts.Marker.Since, facts[1].GuardFacts.Marker.Wall = looktest.Millis(-3*time.Hour), looktest.Millis(-time.Hour)
		change(&facts[1])
		found := found(facts)
		if coded(found, "clock-set").What != "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Wrong advice makes people repair the wrong thing at night.
func TestWhatDoctorAdvisesFitsTheFault(t *testing.T) {
	t.Parallel()
	const unreachable = "warning unreachable"
	busy := redis.Error("BUSY Redis is busy running a script.")
	for _, test := range []struct {
		name   string
		change func(f *Facts)
		want   string   // severity and code of each finding
		says   []string // each by some finding
		never  []string // by none
	}{
		{"a script that does not end", func(f *Facts) {
			f.Info, f.InfoErr, f.Config, f.ConfigErr = nil, busy, nil, busy
			f.GuardFacts.Marker, f.GuardFacts.MarkerErr, f.Refuses = guard.Marker{}, busy, &explain.WriteError{Err: busy}
		}, "serious refuses-writes, warning info-denied, note persistence-unknown",
			[]string{"runs a script that does not end", "End the script on it: SCRIPT KILL, or where it has written (UNKILLABLE) wait, or kill the process."},
			[]string{"ACL", "denied", "+info", "+config"}},
		{"no room for a client", func(f *Facts) {
			down(f, &pipeline.DownError{Cause: &pipeline.ConfigError{What: "handshake", Err: redis.Error("ERR max number of clients reached")}})
		}, unreachable, []string{"refuses us: no session (the master is up): handshake: ERR max number of clients reached", "Raise maxclients on it"},
			[]string{"credentials", "Start it"}},
		{"the append-only file fails", func(f *Facts) {
			f.Refuses = &explain.WriteError{Err: redis.Error("MISCONF Errors writing to the AOF file: No space left on device")}
		}, "serious refuses-writes", []string{"cannot save its data", "Mend the disk of it. Where snapshots alone fail (not the append-only file)"}, nil},
		{"eviction", func(f *Facts) { f.Info["maxmemory_policy"] = "allkeys-lru" },
			"serious may-evict", []string{"CONFIG SET maxmemory-policy noeviction"}, []string{"reconnect", "restart"}},
		{"a replica", func(f *Facts) {
			f.Info["role"], f.GuardFacts.Info.Role = "slave", "slave"
			f.GuardFacts.Marker.Verdict, f.GuardFacts.Marker.Since = guard.Restarted, looktest.Millis(0) // its marker is its master's
		}, "serious not-master", []string{"is a replica (role slave)", "make it one: REPLICAOF NO ONE"}, []string{"restarted"}},
		{"a name that nobody knows", func(f *Facts) {
			down(f, &pipeline.DownError{Cause: &net.DNSError{Err: "no such host", Name: "redis-7", IsNotFound: true}})
		}, unreachable, []string{"is down: no such host", "Mend the name of it in the list, or what resolves it."}, []string{"Start"}},
		{"a port of HTTP", func(f *Facts) {
			down(f, &pipeline.DownError{Cause: fmt.Errorf("handshake: %w", pipeline.ErrProtocol)})
		}, unreachable, []string{"List the port of a Redis in the place of it: something else answers there."}, []string{"Start"}},
	} {
		facts := healthy(5)
		test.change(&facts[1])
		var got []string
		var text strings.Builder
		for _, f := range found(facts) {
			got = append(got, f.Severity.String()+" "+f.Code)
			text.WriteString(f.What + "\n" + f.Why + "\n" + f.Do + "\n")
		}
		ok := strings.Join(got, ", ") == test.want
		for _, wanted := range test.says {
			ok = ok && strings.Contains(text.String(), wanted)
		}
		for _, wrong := range test.never {
			ok = ok && !strings.Contains(text.String(), wrong)
		}
		if !ok {
			t.Errorf("%s: %q, want %q, with %q and without %q in\n%s", test.name, got, test.want, test.says, test.never, text.String())
		}
	}
}
