package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// server is one redis-server for all tests, nil where none can be run.
var (
	server      *redistest.Server
	errNoServer error
)

func TestMain(m *testing.M) {
	if errNoServer = redistest.Available(); errNoServer == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		server, errNoServer = redistest.Launch(ctx, redistest.Config{})
		cancel()
	}
	code := m.Run()
	if server != nil {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// A master runs the scripts.
type master struct {
	t          *testing.T
	conn       redis.Conn
	run        string // run_id
	replid     string // master_replid
	evicted    string // evicted_keys
	newHistory func() // gives its data another history
}

// onEach runs a test on an embedded master and on a real one, both empty.
func onEach(t *testing.T, test func(t *testing.T, m *master)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		sim, err := simmaster.New(simmaster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sim.Close)
		conn, err := sim.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := ready(t, redis.NewConn(conn, 0, 0))
		m.newHistory = func() {
			if err := sim.NewHistory(); err != nil {
				t.Fatal(err)
			}
			m.identify()
		}
		test(t, m)
	})
	t.Run("redis-server", func(t *testing.T) {
		if errNoServer != nil {
			if os.Getenv(redistest.RequireVariable) == "1" {
				t.Fatal(errNoServer)
			}
			t.Skipf("needs a real redis-server process: %v", errNoServer)
		}
		conn, err := server.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := ready(t, conn)
		m.newHistory = func() {
			m.do("REPLICAOF", "127.0.0.1", "1") // where nobody is, so nothing is lost
			m.do("REPLICAOF", "NO", "ONE")
			m.identify()
		}
		test(t, m)
	})
}

// onEachCase is onEach for each case of a table.
func onEachCase[T any](t *testing.T, cases map[string]T, test func(t *testing.T, m *master, c T)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { onEach(t, func(t *testing.T, m *master) { test(t, m, c) }) })
	}
}

// onEachLevel is onEach for a fleet of each level that has markers.
func onEachLevel(t *testing.T, test func(t *testing.T, m *master, c Config)) {
	t.Helper()
	onEachCase(t, map[string]Config{"standard": config(Standard), "strict": config(Strict)}, test)
}

func ready(t *testing.T, conn redis.Conn) *master {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	m := &master{t: t, conn: conn}
	m.do("FLUSHALL")
	m.identify()
	return m
}

var history = regexp.MustCompile(`(?s)evicted_keys:(\d+).*master_replid:(\w+)`)

// identify asks the master who it is.
func (m *master) identify() {
	m.t.Helper()
	text, ok := m.do("INFO").([]byte)
	info, err := ParseInfo(text)
	found := history.FindSubmatch(text)
	if !ok || err != nil || found == nil {
		m.t.Fatalf("INFO: %v", err)
	}
	m.run, m.replid, m.evicted = info.RunID, string(found[2]), string(found[1])
}

func (m *master) do(cmd string, args ...any) any {
	m.t.Helper()
	reply, err := m.conn.Do(cmd, args...)
	if err != nil {
		m.t.Fatalf("%s %v: %v", cmd, args, err)
	}
	return reply
}

// time is the master's clock.
func (m *master) time() time.Time {
	m.t.Helper()
	parts, err := redis.Int64s(m.do("TIME"), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return time.Unix(parts[0], parts[1]*1000)
}

// script runs one, by its text, and returns what it answered.
func (m *master) script(s *script.Script, args []any) Marker {
	m.t.Helper()
	sent := drift.System().Now()
	reply := m.do("EVAL", s.EvalArgs(args)...)
	marker, err := ParseMarker(reply, sent, drift.System().Now())
	if err != nil {
		m.t.Fatalf("%s answered %q: %v", s.Name, reply, err)
	}
	return marker
}

// asRead is what a client has read of the marker, or of the sighting where there is none.
func (m *master) asRead(c Config, t Target) Fields {
	m.t.Helper()
	if m.do("TYPE", Key) == "hash" {
		stored, err := redis.Strings(m.do("HMGET", Key, "replid", "since", "wall"), nil)
		if err != nil {
			m.t.Fatal(err)
		}
		return Fields{Replid: stored[0], Since: stored[1], Wall: stored[2]}
	}
	c.Level = Standard // strict notes no sighting if the clock is off
	return m.script(Dial, c.LookArgs(t)).Fields
}

// declare declares the master, by what is there now.
func (m *master) declare(c Config, t Target) Marker {
	m.t.Helper()
	return m.script(Declare, c.DeclareArgs(t, m.asRead(c, t)))
}

// initialize runs Init on the master, by what is there now.
func (m *master) initialize(c Config, t Target, force bool) Marker {
	m.t.Helper()
	return m.script(Init, c.InitArgs(t, m.asRead(c, t), force, 0))
}

// at is the master, for a script of a client whose wall clock shows sent.
func (m *master) at(sent time.Time) Target {
	return Target{Run: m.run, Sent: sent, Wait: 30 * time.Second}
}

// now is at for a client whose wall clock agrees with the master's.
func (m *master) now() Target {
	m.t.Helper()
	return m.at(m.time())
}

// dial runs the dial script as a client does whose wall clock is ahead of the
// master's by that much.
func (m *master) dial(c Config, ahead ...time.Duration) Marker {
	m.t.Helper()
	sent := m.time()
	for _, d := range ahead {
		sent = sent.Add(d)
	}
	return m.script(Dial, c.DialArgs(m.at(sent)))
}

// check is the mark that the check at the end of a flush makes, or an error reply's text.
func (m *master) check() string {
	m.t.Helper()
	var replies [len(CheckCommands)]any
	for i, command := range CheckCommands {
		reply, err := m.conn.Do(command[0].(string), command[1:]...)
		var refused redis.Error
		switch {
		case errors.As(err, &refused):
			reply = refused
		case err != nil:
			m.t.Fatal(err)
		}
		replies[i] = reply
	}
	mark, err := ReadCheck(replies)
	if err != nil {
		return err.Error()
	}
	return mark
}

// marker is what is in the marker's hash.
func (m *master) marker() map[string]string {
	m.t.Helper()
	fields, err := redis.StringMap(m.do("HGETALL", Key), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return fields
}

// whole is the marker of a fleet that was declared long ago, with changes: field,
// value, field, value…; "-" removes a field.
func (m *master) whole(c Config, changes ...string) map[string]string {
	fields := map[string]string{
		"v": "3", "run": m.run, "replid": m.replid, "since": "1000", "wall": "1000", "maxttl": millis(c.MaxTTL), "n": fmt.Sprint(c.Masters),
		"level": c.Level.String(), "db": "0", "how": "declared", "was": "", "evicted": m.evicted,
	}
	for i := 0; i < len(changes); i += 2 {
		if fields[changes[i]] = changes[i+1]; changes[i+1] == "-" {
			delete(fields, changes[i])
		}
	}
	return fields
}

// put writes the marker that whole returns, and removes the sighting.
func (m *master) put(c Config, changes ...string) map[string]string {
	m.t.Helper()
	fields := m.whole(c, changes...)
	m.do("DEL", Key, Sighting)
	args := []any{Key}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		args = append(args, name, fields[name])
	}
	m.do("HSET", args...)
	return fields
}

// holds fails unless the marker's hash is this, and has no expiry; nil: there is none.
func (m *master) holds(want map[string]string) {
	m.t.Helper()
	if got := m.marker(); !maps.Equal(got, want) {
		m.t.Errorf("the marker is %v, want %v", got, want)
	}
	if ttl := m.do("PTTL", Key); want != nil && ttl != int64(-1) {
		m.t.Errorf("the marker expires in %v ms", ttl)
	}
}

// isNow fails unless since and wall of the marker are between then and now. The client's clock
// agrees with the master's.
func (m *master) isNow(marker Marker, then time.Time) {
	m.t.Helper()
	stored := m.marker()
	for name, text := range map[string]string{"since": marker.Since, "wall": marker.Wall} {
		at, ok := instant(text)
		if !ok || at.Before(then.Truncate(time.Millisecond)) || at.After(m.time()) {
			m.t.Errorf("%s is %s (%v), want an instant in [%v, %v]", name, text, at, then, m.time())
		}
		if stored[name] != text {
			m.t.Errorf("the script answers %s %s, the marker says %q", name, text, stored[name])
		}
	}
}

// facts is what is known of the master after this answer.
func (m *master) facts(answer Marker) Facts {
	return Facts{Master: "m", Connected: true, Info: Info{RunID: m.run, Role: "master", Policy: "noeviction"}, Marker: answer}
}

func wantVerdict(t *testing.T, got Marker, want Verdict) {
	t.Helper()
	if got.Verdict != want {
		t.Errorf("the verdict is %v, want %v: %+v", got.Verdict, want, got)
	}
}

func itoa(ms int64) string { return strconv.FormatInt(ms, 10) }

func config(level Level) Config {
	return Config{Level: level, MaxTTL: time.Minute, Masters: 5, Drift: drift.Default}
}
