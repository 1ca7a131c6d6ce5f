package doctor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

// clock is an instant from now as the verdict has it.
func clock(d time.Duration) string {
	return time.Unix(0, now.Add(d).UnixNano()).Format(time.TimeOnly)
}

// lost is a master without a marker that has been seen so for a while; negative: it
// could not be noted.
func lost(f *Facts, seen time.Duration) {
	f.Marker = nil
	if seen >= 0 {
		f.Sighting = &guard.Marker{Verdict: guard.Missing, Sighted: seen, Clock: reading()}
	}
}

// forgot is a master that remembers since a while ago, as its marker says.
func forgot(f *Facts, ago time.Duration, how string) {
	f.Marker.Since, f.Marker.Wall, f.Marker.How = since(-ago), since(-ago), how
}

func each(f []Facts, change func(f *Facts)) {
	for i := range f {
		change(&f[i])
	}
}

func TestTheVerdictSaysWhetherALockCanBeTaken(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	down := func(f *Facts) { *f = Facts{Master: f.Master, Down: pool.ErrTimeout} }
	for _, test := range []struct {
		name   string
		change func(f []Facts)
		want   string
		help   string // one a line
	}{
		{"all vote", func([]Facts) {}, "YES. 5 of 5 masters vote, 3 needed.", ""},
		{"two away", func(f []Facts) { each(f[3:], down) }, "YES. 3 of 5 masters vote, 3 needed.", ""},
		{
			"three away", func(f []Facts) { each(f[2:], down) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Start 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379, or mend the network to it.",
		},
		{
			"three refuse the password", func(f []Facts) {
				each(f[2:], func(f *Facts) { f.Down = &pipeline.ConfigError{What: "AUTH", Err: errors.New("WRONGPASS")} })
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Mend the credentials, the database number or the TLS settings of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379, or those given here.",
		},
		{
			"three in quarantine", func(f []Facts) {
				forgot(&f[2], 10*time.Second, guard.HowRestarted)
				forgot(&f[3], 20*time.Second, guard.HowRestarted)
				forgot(&f[4], 0, guard.HowRestarted)
			},
			"NO. 2 of 5 masters vote, 3 needed; 3 votes at " + clock(41*time.Second) + " (in 41 s)", "",
		},
		{
			"one votes and needs two more", func(f []Facts) {
				for i := range f[1:] {
					forgot(&f[1+i], time.Duration(i)*10*time.Second, guard.HowRestarted)
				}
			},
			"NO. 1 of 5 masters vote, 3 needed; 3 votes at " + clock(41*time.Second) + " (in 41 s)", "",
		},
		{
			"a quarantine does not help where two are away", func(f []Facts) {
				each(f[:1], func(f *Facts) { forgot(f, 0, guard.HowRestarted) })
				each(f[1:4], down)
			},
			"NO. 1 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Start 10.0.0.2:6379, 10.0.0.3:6379, 10.0.0.4:6379, or mend the network to it.",
		},
		{
			"restarted, and nobody has seen it", func(f []Facts) { each(f[2:], func(f *Facts) { f.Marker.Run = "other" }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Run a client, redlock-demo exec for one: the quarantine of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 begins when one sees it.",
		},
		{
			"resynchronised, and nobody has seen it", func(f []Facts) { each(f[2:], func(f *Facts) { f.Info["master_replid"] = "beef" }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Run a client, redlock-demo exec for one: the quarantine of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 begins when one sees it.",
		},
		{
			"emptied and sighted", func(f []Facts) { each(f[2:], func(f *Facts) { lost(f, 15*time.Second) }) },
			"NO. 2 of 5 masters vote, 3 needed; 3 votes at " + clock(46*time.Second) + " (in 46 s)", "",
		},
		{
			"emptied and sighted long ago", func(f []Facts) { each(f[2:], func(f *Facts) { lost(f, 2*time.Minute) }) },
			"YES. 5 of 5 masters vote, 3 needed.", "",
		},
		{
			"emptied, and it could not be noted", func(f []Facts) { each(f[2:], func(f *Facts) { lost(f, -1) }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Run a client, redlock-demo exec for one: the quarantine of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 begins when one sees it.",
		},
		{
			"emptied, strict", func(f []Facts) {
				each(f, func(f *Facts) { f.Marker.LevelIs = "strict" })
				each(f[3:], func(f *Facts) { lost(f, 15*time.Second) })
				down(&f[0])
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Start 10.0.0.1:6379, or mend the network to it.\n" +
				"Run a client, redlock-demo exec for one: the quarantine of 10.0.0.4:6379, 10.0.0.5:6379 begins when one sees it.",
		},
		{
			"a new fleet", func(f []Facts) { each(f, func(f *Facts) { lost(f, 0) }) },
			"YES. The fleet is new: the first client declares it, then 5 of 5 masters vote, 3 needed.", "",
		},
		{
			"a new fleet with one away", func(f []Facts) {
				each(f, func(f *Facts) { lost(f, 0) })
				down(&f[4])
			},
			"NO. 0 of 5 masters vote, 3 needed; 3 votes at " + clock(61*time.Second) + " (in 61 s)",
			"If the whole fleet is new, declare it, and it votes at once: redlock-demo init --without 10.0.0.5:6379",
		},
		{
			"a new fleet that was adopted", func(f []Facts) {
				each(f, func(f *Facts) { forgot(f, 30*time.Second, guard.HowAdopted) })
				each(f[3:], down)
			},
			"NO. 0 of 5 masters vote, 3 needed; 3 votes at " + clock(31*time.Second) + " (in 31 s)",
			"If the whole fleet is new, declare it, and it votes at once: redlock-demo init --without 10.0.0.4:6379 --without 10.0.0.5:6379",
		},
		{
			"replicas", func(f []Facts) { each(f[2:], func(f *Facts) { f.Info["role"] = "slave" }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"List the master of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379, or make it one: REPLICAOF NO ONE.",
		},
		{
			"eviction", func(f []Facts) { each(f[2:], func(f *Facts) { f.Info["maxmemory_policy"] = "allkeys-lru" }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"CONFIG SET maxmemory-policy noeviction on 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379, and in redis.conf.",
		},
		{
			"one server three times", func(f []Facts) {
				each(f[3:], func(g *Facts) { g.Info["run_id"], g.Marker.Run = f[0].Info["run_id"], f[0].Info["run_id"] })
				down(&f[1])
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Start 10.0.0.2:6379, or mend the network to it.\nList every server once, and others in the place of 10.0.0.4:6379, 10.0.0.5:6379.",
		},
		{
			"a Redis Cluster", func(f []Facts) {
				each(f, func(f *Facts) { f.Info["redis_mode"], f.Marker, f.Clock = "cluster", nil, drift.Reading{} })
			},
			"NO. 0 of 5 masters vote, 3 needed; waiting alone does not help.",
			"List independent masters instead of 10.0.0.1:6379, 10.0.0.2:6379, 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 (docs/how-to/topologies.md).",
		},
		{
			"INFO denied, strict", func(f []Facts) {
				each(f, func(f *Facts) { f.Marker.LevelIs = "strict" })
				each(f[2:], func(f *Facts) { f.Info, f.InfoErr = nil, errors.New("NOPERM") })
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Permit +info on 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379.",
		},
		{
			"INFO denied, standard", func(f []Facts) { each(f[2:], func(f *Facts) { f.Info, f.InfoErr = nil, errors.New("NOPERM") }) },
			"YES. 5 of 5 masters vote, 3 needed.", "",
		},
		{
			"clocks off, strict", func(f []Facts) {
				each(f, func(f *Facts) { f.Marker.LevelIs = "strict" })
				each(f[2:], func(f *Facts) { f.Clock.Time = now.Add(time.Hour) })
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Set the clock of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 right, or this machine's, if that is off.",
		},
		{
			"something else at the marker's name", func(f []Facts) { each(f[2:], func(f *Facts) { f.Marker = &guard.Stored{Type: "string"} }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Rename or delete redquorum:marker on 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379.",
		},
		{
			"another fleet, beside which none is adopted", func(f []Facts) {
				f[1].Marker.Masters = "3"
				each(f[3:], func(f *Facts) { lost(f, 2*time.Minute) })
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"List the masters of one fleet and use its settings; or redlock-demo init --force, when no client is running (10.0.0.2:6379).",
		},
		{
			"markers denied", func(f []Facts) { each(f[2:], func(f *Facts) { f.Marker, f.MarkerErr = nil, errors.New("NOPERM") }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Permit the guard's commands on 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 (docs/reference/wire.md).",
		},
		{
			"TIME denied", func(f []Facts) { each(f[2:], func(f *Facts) { f.Clock = drift.Reading{} }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Permit the guard's commands on 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 (docs/reference/wire.md).",
		},
		{
			"locks denied, loading, no disk", func(f []Facts) {
				f[2].Missing = []Permission{{"+set", acl.Locks, true}}
				f[3].Info["loading"] = "1"
				f[4].Info["aof_last_write_status"] = "err"
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Permit what locks need on 10.0.0.3:6379: the ACL lines are below.\nWait until 10.0.0.4:6379 has loaded its data.\nMend the disk of 10.0.0.5:6379.",
		},
		{
			"databases exchanged", func(f []Facts) { each(f[2:], func(f *Facts) { f.Marker.DB = "1" }) },
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"List the masters of one fleet and use its settings; or redlock-demo init --force, when no client is running (10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379).",
		},
		{"brief", func(f []Facts) {
			each(f, func(f *Facts) { f.Marker.MaxTTL = "1000" })
			each(f[2:], func(f *Facts) { forgot(f, 1100*ms, guard.HowRestarted) })
		}, "NO. 2 of 5 masters vote, 3 needed; 3 votes at " + clock(time.Second) + " (in 1 s)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := healthy(5)
			test.change(facts)
			v, found := Judge(facts, here, Client{})
			if got, want := v.String(), "Can lock: "+test.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if got := strings.Join(v.Help, "\n"); got != test.help {
				t.Errorf("%q, want %q", got, test.help)
			}
			if v.CanLock != strings.HasPrefix(test.want, "YES") || (v.At != nil) != strings.Contains(test.want, " at ") {
				t.Errorf("%+v", v)
			}
			worst, _ := Worst(found)
			if !v.CanLock && worst != Serious {
				t.Errorf("nothing is serious: %+v", found)
			}
			for _, f := range found {
				if !v.CanLock && strings.Contains(f.Why, "locks go on") {
					t.Errorf("%q", f.Why)
				}
			}
			for i, m := range NewReport(facts, v, found).Masters {
				if m.Votes == (m.Abstains != "") {
					t.Errorf("master %d: %+v", i+1, m)
				}
			}
		})
	}
}

func TestTheVerdictIsThatOfTheClientsSettings(t *testing.T) {
	t.Parallel()
	facts := healthy(5)
	v, found := Judge(facts, here, Client{MaxTTL: 30 * time.Second})
	const what = "is of a fleet whose longest TTL is 1m0s, --max-ttl says 30s"
	if v.CanLock || len(found) != 1 || found[0].Code != "other-max-ttl" || found[0].What != what {
		t.Errorf("%+v, %+v", v, found)
	}
	facts = healthy(5)
	each(facts, func(f *Facts) { lost(f, 0) })
	facts[0].Down = pool.ErrTimeout
	if v, _ := Judge(facts, here, Client{MaxTTL: 10 * time.Second}); v.CanLock || v.InMS != 10202 {
		t.Errorf("%+v, want the quarantine of 10 s", v)
	}
	facts = healthy(5)
	each(facts[2:], func(f *Facts) { forgot(f, 61*time.Second, guard.HowRestarted) })
	if v, _ := Judge(facts, here, Client{Skew: 10 * time.Second}); v.CanLock {
		t.Errorf("%+v, though clocks of clients may differ by 10 s", v)
	}
}

func TestALongQuarantineEndsOnADay(t *testing.T) {
	t.Parallel()
	facts := healthy(1)
	facts[0].Marker.MaxTTL = fmt.Sprint((24 * time.Hour).Milliseconds())
	forgot(&facts[0], 0, guard.HowRestarted)
	v, _ := Judge(facts, here, Client{})
	at := now.Add(time.Duration(v.InMS)*time.Millisecond + time.Second - 1).Local().Format(time.DateTime)
	if want := "Can lock: NO. 0 of 1 master votes, 1 needed; 1 vote at " + at + " (in 24h14m25s)"; v.String() != want {
		t.Errorf("%q, want %q", v.String(), want)
	}
}

func TestMembersOfAClusterAndSentinelsAreNamedAndNothingElseIsSaidOfThem(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"cluster":  "is a member of a Redis Cluster, which moves keys between its members and replaces them by replicas",
		"sentinel": "is a Sentinel, which keeps no keys",
		"odd":      "runs in mode odd, want standalone",
	} {
		facts := healthy(5)
		f := &facts[1]
		f.Info["redis_mode"], f.Info["role"], f.Info["maxmemory_policy"] = mode, "slave", "allkeys-lru"
		f.Marker, f.MarkerErr, f.Config, f.ConfigErr = nil, errors.New("CLUSTERDOWN"), nil, errors.New("ERR unknown command")
		f.Missing = []Permission{{"+set", acl.Locks, true}}
		v, found := Judge(facts, here, Client{})
		if len(found) != 1 || found[0].Code != "not-standalone" || found[0].Severity != Serious || found[0].What != want || !v.CanLock || v.Votes != 4 {
			t.Errorf("%s: %+v, %+v", mode, v, found)
		}
	}
}

// coded is the finding with the code; without a text: there is none.
func coded(found []Finding, code string) Finding {
	for _, f := range found {
		if f.Code == code {
			return f
		}
	}
	return Finding{}
}

func TestABacklogThatIsFreedIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ replicas, backlog, ttl, want string }{
		{"0", "0", "3600", ""},
		{"1", "1", "0", ""},
		{"1", "1", "", ""}, // CONFIG GET does not know it
		{"1", "1", "3600", "has replicas, and repl-backlog-ttl is 3600, want 0"},
		{"0", "1", "60", "had replicas and keeps a backlog for them, and repl-backlog-ttl is 60, want 0"},
	} {
		facts := healthy(5)
		f := &facts[1]
		f.Info["connected_slaves"], f.Info["repl_backlog_active"], f.Config["repl-backlog-ttl"] = test.replicas, test.backlog, test.ttl
		_, found := Judge(facts, here, Client{})
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
		{"right then and now", 2 * time.Hour, 2 * time.Hour, 0, ""},
		{"off by the same", 2 * time.Hour, time.Hour, -time.Hour, ""},
		{"a round trip", 2 * time.Hour, 2*time.Hour + time.Second, 0, ""},
		{"slow then", 3 * time.Hour, 2 * time.Hour, 0, "has a clock that was set forward by about 1h0m0s after its marker was written"},
		{"fast then", 2 * time.Hour, 3 * time.Hour, 0, "has a clock that was set back by about 1h0m0s after its marker was written"},
		{"slow now", 2 * time.Hour, 2 * time.Hour, -30 * time.Second, "has a clock that was set back by about 30s after its marker was written"},
	} {
		facts := healthy(5)
		f := &facts[1]
		f.Marker.Since, f.Marker.Wall = since(-test.since), since(-test.wall)
		f.Offset = drift.Span{Low: test.offset, High: test.offset}
		_, found := Judge(facts, here, Client{})
		if got := coded(found, "clock-set"); got.What != test.want || test.want != "" && got.Severity != Warning {
			t.Errorf("%s: %+v", test.name, found)
		}
	}
	for name, change := range map[string]func(f *Facts){
		"declared":           func(f *Facts) { f.Marker.Since, f.Marker.Wall = "0", "0" },
		"of version 1":       func(f *Facts) { f.Marker.Wall = "" },
		"of another process": func(f *Facts) { f.Marker.Run = "other" },
		"TIME denied":        func(f *Facts) { f.HasClock = false },
	} {
		facts := healthy(5)
		facts[1].Marker.Since, facts[1].Marker.Wall = since(-3*time.Hour), since(-time.Hour)
		change(&facts[1])
		_, found := Judge(facts, here, Client{})
		if coded(found, "clock-set").What != "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestAMasterWithoutAMarkerIsToldSinceWhen(t *testing.T) {
	t.Parallel()
	facts := healthy(5)
	lost(&facts[1], 90*time.Second)
	_, found := Judge(facts, here, Client{})
	if want := "has no marker: it has lost its data, or is new, and has been seen so since " + clock(-90*time.Second); len(found) != 1 || found[0].What != want {
		t.Errorf("%+v, want %q", found, want)
	}
}
