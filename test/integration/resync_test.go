package integration

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/rig"
	"github.com/redquorum/redquorum/redlock"
)

// A master takes over the data of its own stale replica and forgets what it has granted
// since. Its process, its connections and a marker that looks right stay. Only the
// history of its data tells.
func TestAMasterResynchronisedFromItsStaleReplicaGrantsNothingTwice(t *testing.T) {
	const ttl = 5 * time.Second
	for _, level := range levels {
		for _, redial := range []bool{false, true} {
			name := level.String() + ", living connection"
			if redial {
				name = level.String() + ", new connection"
			}
			t.Run(name, func(t *testing.T) {
				atOnce := redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}}
				p := startConfigured(t, atOnce, 3)
				replica := redistest.Start(t, 1, atOnce).Masters[0]
				// Before the fleet is declared: a first replica changes the history.
				follow(t, replica.Do, p.servers[0].Addr())

				first, second := p.rivals(level, ttl)
				inStep(t, replica.Do, p.servers[0].Do)
				if _, err := replica.Do("REPLICAOF", "NO", "ONE"); err != nil { // cut off
					t.Fatal(err)
				}

				l := p.onTwo(first, ttl)
				follow(t, p.servers[0].Do, replica.Addr())
				p.do(0, "REPLICAOF", "NO", "ONE")
				if got := p.value(0, "key"); got != "" {
					t.Fatalf("the master has not forgotten its lock: %q", got)
				}
				if redial {
					second = p.at(level, ttl)
				}
				// Now 0 and 2 are free.
				for range 20 {
					notBeside(t, l, second)
				}
				awaitWhy(t, second, 0, redlock.AbstainQuarantined, "another history")
				rig.Within(t, 3*ttl, "it votes after its quarantine", func() bool { return standing(second, 0) == votes })
				if l.Remaining() != 0 {
					t.Errorf("it votes while a lock that it has forgotten has %v left", l.Remaining())
				}
				_ = l.Unlock(context.Background())
				mustUnlock(t, mustTry(t, second, "key"))
			})
		}
	}
}

// follow makes a server a replica, and waits until it has its master's data.
func follow(t *testing.T, do func(cmd string, args ...any) (any, error), addr string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do("REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	awaitLink(t, do)
}

// awaitLink waits until a replica has its master's data. While it still loads them,
// it refuses to be made a master.
func awaitLink(t *testing.T, do func(cmd string, args ...any) (any, error)) {
	t.Helper()
	eventually(t, "the replica has its master's data", func() bool {
		info, err := redis.String(do("INFO", "replication"))
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
}

// inStep waits until a replica has all that its master has.
func inStep(t *testing.T, replica, master func(cmd string, args ...any) (any, error)) {
	t.Helper()
	offset := func(do func(cmd string, args ...any) (any, error), field string) string {
		info, err := redis.String(do("INFO", "replication"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(info) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
				return value
			}
		}
		return ""
	}
	eventually(t, "the replica is in step", func() bool {
		at := offset(master, "master_repl_offset")
		return at != "" && at == offset(replica, "slave_repl_offset")
	})
}

// What a master was dialled by changes on the living connection, without a word to
// its clients.
func TestAMasterThatIsReconfiguredLosesItsVoteOnTheLivingConnection(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.guarded()
	ready(t, c)
	p.do(2, "CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	awaitStanding(t, c, redlock.AbstainMayEvict, 2)
	p.do(2, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	awaitStanding(t, c, votes, 2)
}

// callBriefly is a program that lives for 100 ms at the most.
func (p *processes) callBriefly(opts ...redlock.Option) error {
	p.t.Helper()
	c, err := redlock.Open(p.urls, append([]redlock.Option{redlock.WithMaxTTL(briefMaxTTL), redlock.WithTTL(briefMaxTTL)}, opts...)...)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	l, err := c.Lock(ctx, "key")
	if err != nil {
		return err
	}
	return l.Unlock(context.Background())
}

// Nobody lives for long enough to see that a master stays without a marker: the
// masters remember it for them.
func TestCallersThatLiveBrieflyGetALockOnceTheQuarantineIsOver(t *testing.T) {
	for name, prepare := range map[string]func(p *processes){
		"a new fleet with one master down": func(p *processes) { p.kill(4) },
		"two masters of five emptied, one down": func(p *processes) {
			c := p.guarded()
			ready(p.t, c)
			closeClient(p.t, c)
			p.kill(4)
			p.do(0, "FLUSHALL")
			p.do(1, "FLUSHALL")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcesses(t, five)
			prepare(p)
			began := time.Now()
			eventually(t, "a lock", func() bool {
				err := p.callBriefly()
				if err == nil {
					return true
				}
				q, ok := errors.AsType[*redlock.QuorumError](err)
				if !ok || q.Nodes == nil || !errors.Is(err, redlock.ErrNoQuorum) {
					t.Fatalf("%v", err)
				}
				if named := len(q.Nodes.Errors); named != five-q.OK {
					t.Errorf("it names %d masters, and %d agreed: %v", named, q.OK, err)
				}
				if strings.Contains(err.Error(), "no answer in time") {
					t.Errorf("masters that answer are blamed: %v", err)
				}
				return false
			})
			if took := time.Since(began); took < quarantine() {
				t.Errorf("a lock after %v, before the quarantine of %v", took, quarantine())
			}
			for i := range 4 {
				wall, err := redis.String(p.command(i, "HGET", "redquorum:sighted", "wall"))
				if err != nil && !errors.Is(err, redis.ErrNil) || wall != "" {
					t.Errorf("master %d keeps its sighting as it was before it was adopted (%q, %v)", i, wall, err)
				}
			}
		})
	}
}

func TestInitDeclaresAFleetWithoutAMasterThatIsAbsent(t *testing.T) {
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) {
			p := startProcesses(t, five)
			p.kill(4)
			c := p.guarded(redlock.WithGuard(level))
			awaitStanding(t, c, redlock.AbstainQuarantined, 0, 1, 2, 3)
			ctx := context.Background()
			wantExactly(t, "Init", c.Init(ctx), redlock.ErrNoQuorum)
			for name, without := range map[string][]string{
				"one that is there": {p.address(3)}, "a majority": {p.address(2), p.address(3), p.address(4)}, "a stranger": {"10.0.0.1:6379"},
			} {
				if err := c.Init(ctx, redlock.InitWithout(without...)); err == nil {
					t.Errorf("without %s: declared", name)
				}
			}
			if err := c.Init(ctx, redlock.InitWithout(p.address(4))); err != nil {
				t.Fatal(err)
			}
			awaitStanding(t, c, votes, 0, 1, 2, 3)
			mustUnlock(t, mustTry(t, c, "key"))
			p.restart(4) // empty
			awaitStanding(t, c, redlock.AbstainQuarantined, 4)
			awaitStanding(t, c, votes, 0, 1, 2, 3, 4)
		})
	}
}

// It may have locks, and says no word of them.
func TestInitDoesNotTakeAMasterForAbsentThatRefusesThePassword(t *testing.T) {
	p := join(t, redistest.Start(t, 2, redistest.Config{}), redistest.Start(t, 1, redistest.Config{Password: rightPassword}))
	listed := p.masters
	listed.urls = append(slices.Clone(p.urls[:2]), "redis://:wrong@"+p.address(2))
	c := listed.guarded()
	err := c.Init(context.Background(), redlock.InitWithout(p.address(2)))
	wantExactly(t, "Init", err, redlock.ErrNoQuorum)
	if !strings.Contains(err.Error(), p.address(2)+": it is not absent") {
		t.Errorf("%v", err)
	}
}

// The operator was wrong: the absent master has locks of a fleet that was there.
func TestAFleetThatWasWronglyDeclaredNewIsRevoked(t *testing.T) {
	p := startPersistent(t, five)
	c := p.guarded()
	ready(t, c)
	closeClient(t, c) // a client that lives would say that the fleet is known
	p.kill(4)
	for i := range 4 {
		p.do(i, "FLUSHALL")
	}
	c = p.guarded()
	if err := c.Init(context.Background(), redlock.InitWithout(p.address(4))); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, c, votes, 0, 1, 2, 3)
	p.restart(4)
	awaitStanding(t, c, redlock.AbstainQuarantined, 1, 2, 3)
	awaitWhy(t, c, 0, redlock.AbstainQuarantined, "declared new")
	awaitStanding(t, c, votes, 0, 1, 2, 3, 4)
}

// A machine boots with a slow clock, which is then set right: the marker that was
// written before is no older for it.
func TestAClockThatIsSetRightAfterABootAgesNoMarker(t *testing.T) {
	if err := redistest.ClockAvailable(); err != nil {
		t.Skip("needs a clock that can be moved:", err)
	}
	p := startConfigured(t, redistest.Config{MovableClock: true}, five)
	ready(t, p.guarded())
	const slow = time.Hour
	if err := p.servers[4].SetClock(-slow); err != nil {
		t.Fatal(err)
	}
	p.do(4, "FLUSHALL")
	began := time.Now()
	adopting := p.guarded()
	awaitStanding(t, adopting, redlock.AbstainQuarantined, 4)
	if err := p.servers[4].SetClock(0); err != nil {
		t.Fatal(err)
	}
	fresh := p.guarded() // has seen nothing of it
	for name, c := range map[string]*redlock.Client{"the client that has adopted it": adopting, "a new client": fresh} {
		awaitStanding(t, c, votes, 4)
		if took := time.Since(began); took < quarantine() {
			t.Errorf("for %s it votes after %v, want %v at least", name, took, quarantine())
		}
	}
}

// The first lock of a client goes out before the masters are judged. What they answer to
// it is not why there is no quorum.
func TestTheFirstLockNamesAMasterThatIsUnfitAsReadyDoes(t *testing.T) {
	for name, test := range map[string]struct {
		member    bool
		cfg       redistest.Config
		do        []any // to each, before
		says, not string
	}{
		"members of a Redis Cluster": {member: true, says: "Redis Cluster", not: "CLUSTERDOWN"},
		"replicas":                   {do: []any{"REPLICAOF", "127.0.0.1", "1"}, says: "role is slave", not: "READONLY"},
		"masters that may evict and are full": {
			cfg: redistest.Config{MaxMemoryPolicy: "volatile-lru"}, do: []any{"CONFIG", "SET", "maxmemory", "1"},
			says: "maxmemory-policy", not: "OOM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var clusters []*redistest.Cluster
			for range 3 {
				cfg := test.cfg
				if test.member {
					member, err := redistest.Member()
					if err != nil {
						t.Fatal(err)
					}
					cfg = member
				}
				clusters = append(clusters, redistest.Start(t, 1, cfg))
			}
			p := join(t, clusters...)
			if test.do != nil {
				p.each(func(i int) { p.do(i, test.do[0].(string), test.do[1:]...) })
			}
			for range 10 {
				c := p.guarded()
				for range 2 {
					_, err := c.TryLock(context.Background(), "lock")
					wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
					if text := err.Error(); strings.Count(text, test.says) < 2 || strings.Contains(text, test.not) {
						t.Errorf("want %q of a quorum and nowhere %q: %v", test.says, test.not, err)
					}
				}
			}
		})
	}
}

// A first replica, a backlog that is freed and a REPLICAOF that comes to nothing
// change the history of the data, and nothing is lost. The master cannot tell that
// from a resynchronisation, so it abstains.
func TestAChangeOfTheReplicationHistoryCostsAQuarantineThoughNothingIsLost(t *testing.T) {
	atOnce := redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0", "--repl-backlog-ttl", "0"}}
	p := startConfigured(t, atOnce, 3)
	replica := redistest.Start(t, 1, atOnce).Masters[0]
	c := p.guarded()
	ready(t, c)
	abstains := func(what string) {
		t.Helper()
		rig.Within(t, 2*settleBound, what+": it abstains", func() bool { return standing(c, 0) == redlock.AbstainQuarantined })
		awaitStanding(t, c, votes, 0, 1, 2)
	}

	follow(t, replica.Do, p.servers[0].Addr())
	abstains("a first replica")
	if _, err := replica.Do("REPLICAOF", "NO", "ONE"); err != nil {
		t.Fatal(err)
	}
	follow(t, replica.Do, p.servers[0].Addr()) // a replica that comes back changes nothing
	l := mustTry(t, c, "lock")
	time.Sleep(quarantine() / 4)
	mustUnlock(t, l)
	awaitStanding(t, c, votes, 0)

	if _, err := replica.Do("REPLICAOF", "NO", "ONE"); err != nil {
		t.Fatal(err)
	}
	p.do(0, "CONFIG", "SET", "repl-backlog-ttl", "1")
	abstains("a backlog that is freed")

	p.do(0, "REPLICAOF", "127.0.0.1", "1") // where nobody listens
	p.do(0, "REPLICAOF", "NO", "ONE")
	abstains("a REPLICAOF that comes to nothing")
}

func TestASentinelIsRefusedByName(t *testing.T) {
	path, _, err := redistest.Find()
	if err != nil {
		t.Skip("needs a redis-server:", err)
	}
	p := startProcesses(t, 2)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = free.Close()
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(conf, []byte("bind 127.0.0.1\nport "+port+"\nsentinel monitor m 127.0.0.1 1 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := exec.Command(path, conf, "--sentinel")
	if err := sentinel.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sentinel.Process.Kill()
		_ = sentinel.Wait()
	})
	listed := p.masters
	listed.urls = append(slices.Clone(p.urls), "redis://"+addr)
	c := listed.guarded()
	awaitWhy(t, c, 2, redlock.AbstainNotStandalone, "is a Sentinel")
}
