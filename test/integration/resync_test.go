package integration

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// A master takes over the data of its own stale replica and forgets what it has granted since. Its
// process, its connections and a marker that looks right stay. Only the history of its data shows
// the loss.
func TestAMasterResynchronisedFromItsStaleReplicaGrantsNothingTwice(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Second
	for _, level := range levels {
		for _, how := range []string{"living connection", "new connection", "INFO is denied meanwhile"} {
			redial, deny := how == "new connection", how == "INFO is denied meanwhile"
			if deny && level != redlock.GuardStrict { // in standard the master votes unguarded
				continue
			}
			t.Run(string(level)+", "+how, func(t *testing.T) {
				t.Parallel()
				if deny {
					redistest.Need(t, redistest.ACL)
				}
				atOnce := redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}}
				p := startConfigured(t, atOnce, 3)
				replica := redistest.Start(t, 1, atOnce).Masters[0]
				// This comes before the fleet is declared, because a first replica changes the
				// history.
				follow(t, replica.Do, p.servers[0].Addr())

				first, second := p.rivals(level, ttl)
				inStep(t, replica.Do, p.servers[0].Do)
				if _, err := replica.Do("REPLICAOF", "NO", "ONE"); err != nil { // it is cut off now
					t.Fatal(err)
				}

				l := p.onTwo(first, ttl)
				if deny {
					p.do(0, "ACL", "SETUSER", "default", "-info")
					host, port, _ := net.SplitHostPort(replica.Addr())
					p.do(0, "REPLICAOF", host, port)
					eventually(t, "it has the replica's data", func() bool { return p.value(0, "key") == "" })
				} else {
					follow(t, p.servers[0].Do, replica.Addr())
				}
				p.do(0, "REPLICAOF", "NO", "ONE")
				if got := p.value(0, "key"); got != "" {
					t.Fatalf("the master has not forgotten its lock: %q", got)
				}
				if redial {
					second = p.at(level, ttl)
				}
				// Now the key is free on masters 0 and 2.
				for range 20 {
					notBeside(t, l, second)
				}
				if deny {
					awaitWhy(t, second, 0, guard.Unreadable, "+info")
					p.do(0, "ACL", "SETUSER", "default", "+info")
				}
				awaitWhy(t, second, 0, guard.Quarantined, "another history")
				testutil.Within(t, 3*ttl, "it votes after its quarantine", func() bool { return standing(second, 0) == votes })
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

// A setting that a dial has checked changes while the connection lives, and clients are not
// notified.
func TestAMasterThatIsReconfiguredLosesItsVoteOnTheLivingConnection(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 3)
	c := p.guarded()
	ready(t, c)
	p.do(2, "CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	awaitStanding(t, c, guard.MayEvict, 2)
	p.do(2, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	awaitStanding(t, c, votes, 2)
}

// callBriefly is a program that lives for at most 100 ms.
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

// slow reports whether the machine is so busy that four pings, one after another, take a tenth of
// a brief caller's time.
func (p *processes) slow() bool {
	began := time.Now()
	for i := range 4 {
		_, _ = p.command(i, "PING")
	}
	return time.Since(began) > 10*time.Millisecond
}

// No caller lives long enough to see that a master stays without a marker, so the masters remember
// that.
func TestShortLivedCallersGetALockAfterTheQuarantine(t *testing.T) {
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
				busy := p.slow()
				err := p.callBriefly()
				busy = busy || p.slow()
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
				if strings.Contains(err.Error(), "no answer in time") && !busy {
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

// The error says why masters are unfit, not what they answer to a lock.
func TestFirstLockAndReadyNameUnfitMasters(t *testing.T) {
	for name, test := range map[string]struct {
		cfg       redistest.Config
		do        []any // to each, before
		says, not string
	}{
		"members of a Redis Cluster": {cfg: redistest.Config{Member: true}, says: "Redis Cluster", not: "CLUSTERDOWN"},
		"replicas":                   {do: []any{"REPLICAOF", "127.0.0.1", "1"}, says: "role is slave", not: "READONLY"},
		"masters that may evict and are full": {
			cfg: redistest.Config{MaxMemoryPolicy: "volatile-lru"}, do: []any{"CONFIG", "SET", "maxmemory", "1"},
			says: "maxmemory-policy", not: "OOM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var clusters []*redistest.Cluster
			for range 3 {
				clusters = append(clusters, redistest.Start(t, 1, test.cfg))
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
					text, named := err.Error(), 0
					for part := range strings.SplitSeq(text, "; ") {
						if strings.Contains(part, test.says) { // one master, or all with that reason
							named += strings.Count(part, "127.0.0.1:")
						}
					}
					if named < 2 || strings.Contains(text, test.not) {
						t.Errorf("want %q of a quorum and nowhere %q: %v", test.says, test.not, err)
					}
				}
			}
		})
	}
}

// A first replica, a backlog that is freed and a REPLICAOF without effect change the history of
// the data, and nothing is lost. The guard cannot tell that from a resynchronisation, so the
// master abstains.
func TestAChangeOfTheReplicationHistoryCostsAQuarantineThoughNothingIsLost(t *testing.T) {
	t.Parallel()
	atOnce := redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0", "--repl-backlog-ttl", "0"}}
	p := startConfigured(t, atOnce, 3)
	replica := redistest.Start(t, 1, atOnce).Masters[0]
	c := p.guarded()
	ready(t, c)
	abstains := func(what string) {
		t.Helper()
		testutil.Within(t, 2*settleBound, what+": it abstains", func() bool { return standing(c, 0) == guard.Quarantined })
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

	p.do(0, "REPLICAOF", "127.0.0.1", "1") // nothing listens there
	p.do(0, "REPLICAOF", "NO", "ONE")
	abstains("a REPLICAOF that comes to nothing")
}

// Neither a Sentinel nor a member of a cluster becomes an independent master by waiting.
func TestLockNamesSentinelsAndClusterMembersWithoutWaiting(t *testing.T) {
	member := redistest.Start(t, 1, redistest.Config{Member: true}).Masters[0]
	for addr, says := range map[string]string{
		startSentinel(t, "sentinel monitor m 127.0.0.1 1 1\n"): "is a Sentinel",
		member.Addr(): "Redis Cluster",
	} {
		c := openURLs(t, []string{"redis://" + addr}, redlock.WithGuard(redlock.GuardStandard), redlock.WithOutageWait(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), settleBound)
		_, err := c.Lock(ctx, "lock")
		cancel()
		wantExactly(t, "Lock at "+addr, err, redlock.ErrNoQuorum)
		if err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("want %q named: %v", says, err)
		}
	}
}
