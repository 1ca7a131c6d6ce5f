package guard

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
)

// started is a master of a test's own.
func started(t *testing.T, s *redistest.Server) *master {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &master{t: t, conn: conn}
	m.identify()
	return m
}

func (m *master) info() Info {
	m.t.Helper()
	text, err := redis.Bytes(m.conn.Do("INFO"))
	if err != nil {
		m.t.Fatal(err)
	}
	info, err := ParseInfo(text)
	if err != nil {
		m.t.Fatal(err)
	}
	return info
}

var called = regexp.MustCompile(`redis\.p?call\('(\w+)'`)

// The commands that docs/reference/wire.md names for an ACL are all that the scripts use.
func TestTheScriptsRunUnderTheMinimalACL(t *testing.T) {
	var commands []string
	for _, s := range Scripts {
		for _, match := range called.FindAllStringSubmatch(s.Source, -1) {
			commands = append(commands, strings.ToLower(match[1]))
		}
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	documented := []string{"del", "exists", "get", "hmget", "hset", "info", "persist", "pexpire", "pttl", "set", "time", "type"}
	if !slices.Equal(commands, documented) {
		t.Errorf("the scripts use %v, docs/reference/wire.md says %v", commands, documented)
	}
	acl := "user guard on >secret ~" + Key + " ~" + Sighting + " +evalsha +eval +" + strings.Join(documented, " +")
	s := redistest.Start(t, 1, redistest.Config{ACL: []string{acl}, Username: "guard", Password: "secret"}).Masters[0]
	m := asUser(t, s)
	m.identify()
	c := config(Strict)
	wantVerdict(t, m.dial(c), Missing)
	wantVerdict(t, m.initialize(c, m.now(), true), Forced)
	wantVerdict(t, m.initialize(c, m.now(), false), Present)
	wantVerdict(t, m.declare(c, m.now()), Present)
	wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, "")), Present)
	wantVerdict(t, m.script(Dial, c.LookArgs(m.now())), Same)
	if got := m.check(); !strings.Contains(got, m.run) {
		t.Errorf("the check answers %q", got)
	}
	m.do("DEL", Key)
	c = config(Standard)
	wantVerdict(t, m.dial(c), Missing)
	wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, "")), Missing)
	wantVerdict(t, m.declare(c, m.now()), Declared)
	if _, err := m.conn.Do("SET", "lock", "1"); err == nil {
		t.Error("the user may do more than it was given")
	}
}

// asUser is the master, as the user of the server's URL sees it.
func asUser(t *testing.T, s *redistest.Server) *master {
	t.Helper()
	conn, err := redis.DialURLContext(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &master{t: t, conn: conn}
}

// follows makes the master a replica of another, and returns when it has its data.
func (m *master) follows(s *redistest.Server) {
	m.t.Helper()
	host, port, _ := strings.Cut(s.Addr(), ":")
	m.do("REPLICAOF", host, port)
	testutil.Eventually(m.t, "it is synchronised", func() bool {
		info, _ := redis.String(m.do("INFO", "replication"), nil)
		return strings.Contains(info, "master_link_status:up")
	})
}

// syncs is how often the master has resynchronised a replica in part, as INFO says it.
func syncs(m *master) string {
	m.t.Helper()
	info, _ := redis.String(m.do("INFO", "stats"), nil)
	return regexp.MustCompile(`sync_partial_ok:\d+`).FindString(info)
}

// With the copy of its own stale replica the marker, the process and the connection are the same:
// only the history of the data differs. If it is resynchronised in part, it only continues with the
// replica's writes, and no other key is touched.
func TestAMasterThatTakesItsOwnReplicasDataIsQuarantined(t *testing.T) {
	servers := redistest.Start(t, 2, redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}}).Masters
	for _, test := range []struct {
		level   Level
		partial bool
	}{{Standard, false}, {Strict, false}, {Standard, true}} {
		level, c := test.level, config(test.level)
		m, replica := started(t, servers[0]), started(t, servers[1])
		m.do("FLUSHALL")
		replica.follows(servers[0])
		m.identify() // its first replica has changed the history
		m.put(c)
		at := m.dial(c)
		wantVerdict(t, at, Same)
		if got := m.check(); got != at.Mark() {
			t.Fatalf("%v: the check answers %q, want %q", level, got, at.Mark())
		}
		testutil.Eventually(m.t, "the replica has the marker", func() bool { return replica.marker()["run"] == m.run })

		if test.partial {
			m.do("SET", "lock", "forgotten")
			testutil.Eventually(m.t, "the replica has the lock", func() bool { return replica.do("EXISTS", "lock") == int64(1) })
		}
		before, _ := redis.Bytes(m.do("INFO", "replication"), nil)
		partial := syncs(replica)
		replica.do("REPLICAOF", "NO", "ONE")
		if !test.partial {
			m.do("SET", "lock", "forgotten")
		}
		m.follows(servers[1])
		if took := syncs(replica) != partial; took != test.partial {
			t.Fatalf("%v: it was resynchronised in part: %t, want %t", level, took, test.partial)
		}
		replica.do("DEL", "lock")
		testutil.Eventually(m.t, "it has forgotten the lock", func() bool { return m.do("EXISTS", "lock") == int64(0) })
		if got := m.check(); got != "" {
			t.Errorf("%v: as a replica its check answers %q, want nothing", level, got)
		}
		m.do("REPLICAOF", "NO", "ONE")
		now, _ := redis.Bytes(m.do("INFO", "replication"), nil)
		if SameCheck(before, now) {
			t.Errorf("%v: with the copy its INFO counts as the same:\n%s\n%s", level, before, now)
		}
		if stored := m.marker(); stored["run"] != m.run || stored["since"] != at.Since || stored["replid"] != at.Replid {
			t.Fatalf("the copy's marker is %v: the test shows nothing", stored)
		}
		if got := m.check(); got != "" {
			t.Errorf("%v: with the copy its check answers %q, want nothing", level, got)
		}
		then := m.time()
		answer := m.dial(c)
		wantVerdict(t, answer, Restarted)
		m.isNow(answer, then)
		m.identify()
		if answer.How != HowResynced || answer.Replid != m.replid || answer.Replid == at.Replid {
			t.Errorf("%v: it answers %+v", level, answer)
		}
		f := m.facts(answer)
		f.Info = m.info()
		if s := c.Standings([]Facts{f}, drift.System().Now())[0]; s.Vote || s.Why.Cause != Quarantined || s.Why.How != HowResynced {
			t.Errorf("%v: it %v", level, s)
		}
	}
}

// evicts has the master evict n keys; its other keys have no expiry.
func (m *master) evicts(n int) {
	m.t.Helper()
	for i := range n {
		m.do("SET", itoa(int64(i)), "", "EX", 1000)
	}
	m.do("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
	m.do("CONFIG", "SET", "maxmemory", 1)
	for err := error(nil); err == nil; { // which evicts them; the last one is refused
		_, err = m.conn.Do("SET", "other", "", "XX")
	}
	m.do("CONFIG", "SET", "maxmemory", 0)
	m.do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	m.identify()
	if keys := m.do("DBSIZE"); keys != int64(1) {
		m.t.Fatalf("it has %v keys, want the marker", keys)
	}
}

func TestAMasterThatHasEvictedKeysIsQuarantined(t *testing.T) {
	const user = "user guard on >secret ~* +@all -info" // the default user may ask INFO
	s := redistest.Start(t, 1, redistest.Config{ACL: []string{user}, Username: "guard", Password: "secret"}).Masters[0]
	for _, level := range []Level{Standard, Strict} {
		m, c := started(t, s), config(level)
		denied := asUser(t, s)
		denied.run = m.run
		same := func(m *master, want map[string]string) {
			t.Helper()
			wantVerdict(t, m.dial(c), Same)
			m.holds(want)
		}
		quarantines := func(want map[string]string) {
			t.Helper()
			look := m.script(Dial, c.LookArgs(m.now()))
			if look.Verdict != Restarted || look.How != HowEvicted {
				t.Errorf("a look answers %+v", look)
			}
			m.holds(want)
			then := m.time()
			got := m.dial(c)
			m.isNow(got, then)
			if got.Verdict != Restarted || got.How != HowEvicted {
				t.Errorf("it answers %+v", got)
			}
			maps.Copy(want, map[string]string{"since": got.Since, "wall": got.Wall, "how": HowEvicted, "evicted": m.evicted})
			same(m, want)
		}
		want := m.put(c)
		same(m, want)
		m.evicts(3)
		same(denied, want) // as if nothing was evicted
		quarantines(want)

		m.do("CONFIG", "RESETSTAT") // it is only noted
		want["evicted"] = "0"
		same(m, want)
		m.evicts(3)
		quarantines(want)
		m.do("CONFIG", "RESETSTAT")
		m.evicts(2)
		quarantines(want)

		// A full master notes it, too: CONFIG RESETSTAT may come before there is room.
		m.evicts(1)
		m.do("CONFIG", "SET", "maxmemory", 1)
		quarantines(want)
		m.do("CONFIG", "SET", "maxmemory", 0)
		// A master that refuses all writes notes nothing, but answers as if it had.
		m.evicts(1)
		m.do("CONFIG", "SET", "min-replicas-to-write", 1)
		if got := m.dial(c); got.Verdict != Restarted || got.How != HowEvicted {
			t.Errorf("without replicas it answers %+v", got)
		}
		m.holds(want)
		m.do("CONFIG", "SET", "min-replicas-to-write", 0)
		quarantines(want)
		m.put(c, "evicted", "-")

		// Evictions before the first note are unknown, and those of another process are over.
		same(m, m.whole(c))
		m.put(c, "evicted", "1", "run", "another")
		if got := m.dial(c); got.How != HowRestarted || m.marker()["evicted"] != m.evicted {
			t.Errorf("of another process: %+v, noted %q", got, m.marker()["evicted"])
		}
	}
}

// A client that may not ask INFO judges without the history, and the master keeps its vote.
func TestWhereINFOIsNotPermittedTheMarkerAloneIsChecked(t *testing.T) {
	acl := "user guard on >secret ~* +@all -info"
	s := redistest.Start(t, 1, redistest.Config{ACL: []string{acl}, Username: "guard", Password: "secret"}).Masters[0]
	c := config(Standard)
	other := started(t, s) // which may ask
	m := asUser(t, s)
	m.run = other.run
	at := m.declare(c, m.now())
	wantVerdict(t, at, Declared)
	if at.Replid != "" || m.marker()["replid"] != "" {
		t.Errorf("it answers %+v", at)
	}
	want := mark(m.run, "0", "", "0")
	if got := m.check(); got != want || at.Mark() != want {
		t.Errorf("the check answers %q, want %q as %q", got, want, at.Mark())
	}
	if got := other.check(); got != want {
		t.Errorf("to who may ask the check answers %q, want %q", got, want)
	}
	wantVerdict(t, m.dial(c), Same)
	f := m.facts(at)
	if s := c.Standings([]Facts{f}, drift.System().Now())[0]; !s.Vote || s.Unguarded == nil || !strings.Contains(s.String(), "master_replid") {
		t.Errorf("it %v", s)
	}
	if s := config(Strict).Standings([]Facts{f}, drift.System().Now())[0]; s.Vote || s.Why.Cause != Unreadable {
		t.Errorf("in strict it %v", s)
	}

	// A client that may ask notes the history, and nothing else; the other accepts it.
	answer := other.dial(c)
	wantVerdict(t, answer, Same)
	if answer.Since != at.Since || answer.Replid != other.replid || answer.Replid == "" {
		t.Errorf("it answers %+v", answer)
	}
	f = Facts{Info: Info{RunID: m.run}, Marker: m.dial(c)}
	wantVerdict(t, f.Marker, Same)
	if got := m.check(); got != want || f.Mark() != want {
		t.Errorf("the check answers %q, want %q as %q", got, want, f.Mark())
	}
	// A client that may ask has judged the history. If INFO were forbidden to it, it would judge
	// again.
	f.Info = other.info()
	if was := mark(m.run, "0", other.replid, "0"); f.Mark() != was || other.check() != was {
		t.Errorf("to who may ask the check answers %q, want %q as %q", other.check(), was, f.Mark())
	}
	other.do("FLUSHALL")
	if got := m.check(); got != "" {
		t.Errorf("flushed, the check answers %q, want nothing", got)
	}
}
