package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

var (
	now  = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	here = drift.AtWithoutBoot(time.Hour, now)
)

// history is the master_replid of all of them.
const history = "5eed"

// marker is that of a process of a fleet of n.
func marker(n int, run string) *guard.Stored {
	s := guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: n}.Stored(run, 0)
	s.Replid = history
	return &s
}

// reading is a look at a clock that is right.
func reading() drift.Reading {
	return drift.Reading{Sent: here, Received: here, Time: now}
}

// since is an instant in a marker, from now.
func since(d time.Duration) string { return strconv.FormatInt(now.Add(d).UnixMilli(), 10) }

// healthy is a fleet without a fault.
func healthy(n int) []Facts {
	facts := make([]Facts, n)
	for i := range facts {
		run := strings.Repeat(string(rune('a'+i)), 40)
		facts[i] = Facts{
			Master: fmt.Sprintf("10.0.0.%d:6379", i+1), RoundTrips: []time.Duration{200 * time.Microsecond},
			Info: map[string]string{
				"redis_version": "7.0.15", "role": "master", "run_id": run, "master_replid": history, "redis_mode": "standalone", "maxmemory": "0", "maxmemory_policy": "noeviction",
				"connected_slaves": "0", "loading": "0", "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok", "aof_enabled": "1",
			},
			Config: map[string]string{"appendonly": "yes", "appendfsync": "always"},
			Marker: marker(n, run), Clock: reading(),
			User: "locks", HasClock: true, Offset: drift.Span{Low: -time.Millisecond, High: time.Millisecond},
			HasRate: true, RateLow: -0.0001, RateHigh: 0.0001, TLS: true, Expires: now.Add(365 * 24 * time.Hour),
		}
	}
	return facts
}

func TestAHealthyFleetHasNoFindings(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5} {
		if _, found := Judge(healthy(n), here, Client{}); len(found) != 0 {
			t.Errorf("%+v", found)
		}
	}
}

func TestEachFaultIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(f []Facts)
		want   string // severity and code of each finding
		says   string // what one of them says, as well
	}{
		{"one gone", func(f []Facts) { f[1] = Facts{Master: "b", Down: pool.ErrTimeout} }, "warning unreachable", "1 more may fail"},
		{"three gone", func(f []Facts) { f[1].Down, f[2].Down, f[3].Down = pool.ErrTimeout, pool.ErrTimeout, pool.ErrTimeout }, "serious unreachable", "With 2 of 5 nothing can be locked: 3 are needed."},
		{"refused", func(f []Facts) { f[1].Down = &pipeline.ConfigError{What: "AUTH", Err: errors.New("WRONGPASS")} }, "warning unreachable", "refuses us: password refused (the master is up)"},
		{"twice", func(f []Facts) {
			f[3].Info["run_id"] = f[0].Info["run_id"]
			f[3].Marker.Run = f[0].Marker.Run
		}, "serious duplicate", "is the same server as 10.0.0.1:6379"},
		{"a replica", func(f []Facts) { f[1].Info["role"] = "slave" }, "serious not-master", "REPLICAOF NO ONE"},
		{"INFO denied", func(f []Facts) { f[1].Info, f[1].InfoErr = nil, errors.New("NOPERM") }, "warning info-denied", "ACL SETUSER locks +info"},
		{"loading", func(f []Facts) { f[1].Info["loading"] = "1" }, "warning loading", ""},
		{"has replicas", func(f []Facts) { f[1].Info["connected_slaves"] = "2" }, "note replicas", "has replicas (2)"},
		{"old", func(f []Facts) { f[1].Info["redis_version"] = "4.0.14" }, "warning old-version", "is Redis 4.0"},
		{"new enough", func(f []Facts) { f[1].Info["redis_version"] = "5.0.0" }, "", ""},
		{"odd version", func(f []Facts) { f[1].Info["redis_version"] = "unstable" }, "", ""},
		{"evicts", func(f []Facts) { f[1].Info["maxmemory_policy"] = "volatile-ttl" }, "serious may-evict", "maxmemory-policy volatile-ttl"},
		{"bounded", func(f []Facts) { f[1].Info["maxmemory"] = "1000" }, "note maxmemory", ""},
		{"everysec, guarded", func(f []Facts) { f[1].Config["appendfsync"] = "everysec" }, "note forgets", "persistence: aof everysec"},
		{"nothing kept, unguarded", func(f []Facts) {
			for i := range f {
				f[i].Marker = nil
			}
			f[1].Config["appendonly"] = "no"
		}, "warning forgets, note no-fleet", "persistence: none"},
		{"CONFIG denied", func(f []Facts) { f[1].Config, f[1].ConfigErr = nil, errors.New("NOPERM") }, "note persistence-unknown", "ACL SETUSER locks +config|get"},
		{"CONFIG denied, nothing kept", func(f []Facts) {
			f[1].Config, f[1].ConfigErr, f[1].Info["aof_enabled"] = nil, errors.New("NOPERM"), "0"
		}, "note forgets", ""},
		{"AOF fails", func(f []Facts) { f[1].Info["aof_last_write_status"] = "err" }, "serious aof-failing", ""},
		{"save fails", func(f []Facts) { f[1].Info["rdb_last_bgsave_status"] = "err" }, "warning save-failing", ""},
		{"cannot lock", func(f []Facts) {
			f[1].Missing = []Permission{{"+set", acl.Locks, true}, {"~k", acl.Locks, true}, {"+zadd", acl.Readers, false}, {"&redquorum:w:1:*", acl.Queue, false}}
		}, "serious permission, warning permission", "ACL SETUSER locks +zadd &redquorum:w:1:*"},
		{"user unknown", func(f []Facts) { f[1].User, f[1].Missing = "", []Permission{{"+set", acl.Locks, true}} }, "serious permission", "ACL SETUSER USER +set"},
		{"clock a little off", func(f []Facts) { f[1].Offset = drift.Span{Low: 200 * time.Millisecond, High: 210 * time.Millisecond} }, "note clock-off", "off ours by +205ms ± 5ms"},
		{"clock off", func(f []Facts) { f[1].Offset = drift.Span{Low: -3605 * time.Second, High: -3600 * time.Second} }, "warning clock-off", "off ours by -1h0m2.5s"},
		{"clock perhaps off", func(f []Facts) { f[1].Offset = drift.Span{Low: -time.Second, High: 3 * time.Second} }, "", ""},
		{"clock off, strict", func(f []Facts) {
			for i := range f {
				f[i].Marker.LevelIs = "strict"
			}
			f[1].Offset = drift.Span{Low: 600 * time.Millisecond, High: 610 * time.Millisecond}
		}, "serious clock-off", "the master does not vote"},
		{"clock jumps", func(f []Facts) { f[1].Deviation = "stepped forward by 1m0s" }, "serious clock-jumps", "has a clock that stepped forward by 1m0s while it was watched"},
		{"clock runs fast", func(f []Facts) { f[1].RateLow, f[1].RateHigh = 0.02, 0.03 }, "serious clock-rate", "runs 2.0 % off ours"},
		{"clock runs slow", func(f []Facts) { f[1].RateLow, f[1].RateHigh = -0.03, -0.02 }, "serious clock-rate", "runs 2.0 % off ours"},
		{"rate uncertain", func(f []Facts) { f[1].RateLow, f[1].RateHigh = -0.03, 0.03 }, "", ""},
		{"slow", func(f []Facts) { f[1].RoundTrips = []time.Duration{time.Millisecond, 40 * time.Millisecond} }, "note slow", "within 40 ms"},
		{"certificate old", func(f []Facts) { f[1].Expires = now.Add(20*24*time.Hour + time.Minute) }, "warning certificate", "expires in 20 days, on 2026-05-21"},
		{"certificate almost over", func(f []Facts) { f[1].Expires = now.Add(47*time.Hour + time.Minute) }, "serious certificate", "expires in 47 hours"},
		{"no TLS", func(f []Facts) { f[1].TLS, f[1].Expires = false, time.Time{} }, "", ""},
		{"marker lost", func(f []Facts) { f[1].Marker = nil }, "warning no-marker", "until 1m0.702s after"},
		{"marker denied", func(f []Facts) { f[1].Marker, f[1].MarkerErr = nil, errors.New("NOPERM") }, "warning marker-unreadable", "+hmget ~redquorum:marker"},
		{"other level", func(f []Facts) { f[1].Marker.LevelIs = "strict" }, "serious other-fleet", "is of another fleet (5 masters, strict, longest TTL 1m0s) than the others (5 masters, standard, longest TTL 1m0s)"},
		{"other TTL", func(f []Facts) { f[0].Marker.MaxTTL = "1000" }, "serious other-fleet", "is of another fleet (5 masters, standard, longest TTL 1s) than the others"},
		{"other version", func(f []Facts) { f[1].Marker.Version = "3" }, "serious other-fleet", "version 3 instead of 2"},
		{"no number", func(f []Facts) { f[1].Marker.Masters = "all" }, "serious other-fleet", "is of another fleet (all masters, MaxTTL 1m0s, level standard)"},
		{"something else", func(f []Facts) { f[1].Marker = &guard.Stored{Type: "string"} }, "serious no-hash", "has a string at redquorum:marker"},
		{"nothing but something else", func(f []Facts) {
			for i := range f {
				f[i].Marker = &guard.Stored{Type: "string"}
			}
		}, "serious no-hash", ""},
		{"marker lost, strict", func(f []Facts) {
			for i := range f {
				f[i].Marker.LevelIs = "strict"
			}
			f[1].Marker = nil
		}, "warning no-marker", "until 1m1.702s after"},
		{"list too short", func(f []Facts) {
			for i := range f {
				f[i].Marker.Masters = "7"
			}
		}, "serious other-number", "is of a fleet of 7 masters, here are 5"},
		{"restarted", func(f []Facts) { f[1].Marker.Run = "other" }, "warning restarted", ""},
		{"quarantined", func(f []Facts) { f[1].Marker.Since = since(-50 * time.Second) }, "warning quarantine", "for another 10.7s"},
		{"quarantine over", func(f []Facts) { f[1].Marker.Since = since(-61 * time.Second) }, "", ""},
		{"since tomorrow", func(f []Facts) { f[1].Marker.Since = since(time.Hour) }, "warning quarantine", "for another 1m0.7s"},
		{"since is no time", func(f []Facts) { f[1].Marker.Since = "yesterday" }, "warning quarantine", "for another 1m0.7s"},
		{"TIME denied", func(f []Facts) { f[1].Clock = drift.Reading{} }, "", ""},
		{"TIME denied to one of another fleet", func(f []Facts) { f[1].Clock, f[1].Marker.MaxTTL = drift.Reading{}, "1000" }, "serious other-fleet", ""},
		{"run unknown", func(f []Facts) { delete(f[1].Info, "run_id") }, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := healthy(5)
			test.change(facts)
			var got []string
			var text strings.Builder
			_, found := Judge(facts, here, Client{})
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

func TestAQuarantineIsAsLongAsTheClientsClocksAskFor(t *testing.T) {
	t.Parallel()
	facts := healthy(5)
	facts[1].Marker.Since = since(-61 * time.Second)
	config := guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: 5, Drift: drift.Default, ClientSkew: 10 * time.Second}
	want := "for another " + (config.Quarantine() - 61*time.Second).Round(100*time.Millisecond).String()
	if _, found := Judge(facts, here, Client{Skew: config.ClientSkew}); len(found) != 1 || found[0].Code != "quarantine" || !strings.Contains(found[0].What, want) {
		t.Errorf("%+v, want a quarantine %s", found, want)
	}
}

func TestTheNumberOfMastersIsJudged(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "one-master", 2: "even-number", 3: "", 4: "even-number", 5: "", 6: "even-number"} {
		code := ""
		_, found := Judge(healthy(n), here, Client{})
		for _, f := range found {
			code = f.Code
		}
		if code != want {
			t.Errorf("%d masters: %q, want %q", n, code, want)
		}
	}
}

func TestTheSameFindingOnSeveralMastersIsOne(t *testing.T) {
	t.Parallel()
	facts := healthy(5)
	facts[1].Info["maxmemory_policy"], facts[3].Info["maxmemory_policy"] = "allkeys-lru", "allkeys-lru"
	_, found := Judge(facts, here, Client{})
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
