package goredis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"

	"github.com/redquorum/redquorum/contrib/goredis"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunClean(m.Run, testutil.Bound)) }

// to makes a client that is closed at the end of the test.
func to(t *testing.T, o redis.Options) redis.UniversalClient {
	t.Helper()
	client := redis.NewClient(&o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func open(t *testing.T, clients []redis.UniversalClient, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	client, err := goredis.Open(clients, append([]redlock.Option{redlock.WithLogger(nil)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAClientThatIsNotForOneMasterIsRefusedWithItsPosition(t *testing.T) {
	const secret = "S3CR3T"
	good := to(t, redis.Options{Addr: "127.0.0.1:1", Password: secret})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, Password: secret})
	failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}, Password: secret})
	for _, c := range []redis.UniversalClient{cluster, failover} {
		defer func() { _ = c.Close() }()
	}
	for name, test := range map[string]struct {
		second redis.UniversalClient
		want   []string
	}{
		"nil":        {nil, []string{"client 2 is nil", "redis.NewClient"}},
		"typed nil":  {(*redis.Client)(nil), []string{"client 2 is nil", "redis.NewClient"}},
		"cluster":    {cluster, []string{"client 2 is a *redis.ClusterClient", "servers of their own"}},
		"Sentinel":   {failover, []string{"client 2 is a fail-over client (Sentinel)", "servers of their own"}},
		"twice":      {to(t, redis.Options{Addr: "127.0.0.1:1", Password: secret}), []string{"master 2: 127.0.0.1:1 is already master 1"}},
		"a database": {to(t, redis.Options{Addr: "127.0.0.1:2", DB: 3, Password: secret}), []string{"client 2 is for database 3, the first for 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := goredis.Open([]redis.UniversalClient{good, test.second})
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q has no %q", err, part)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q shows the password", err)
			}
		})
	}
	if _, err := goredis.Open(nil); err == nil || !strings.Contains(err.Error(), "0 masters given") {
		t.Errorf("no clients: %v", err)
	}
	if _, err := goredis.Open([]redis.UniversalClient{good}, redlock.WithTTL(0)); err == nil || !strings.Contains(err.Error(), "WithTTL") {
		t.Errorf("a bad option: %v", err)
	}
}

// All clients must use the same text for an address, because it decides a key's pilot.
func TestMasterNamesMatchThoseOfURLs(t *testing.T) {
	client := open(t, []redis.UniversalClient{
		to(t, redis.Options{Addr: ":6379"}), to(t, redis.Options{Addr: "REDIS-1:6379"}), to(t, redis.Options{Addr: "/no/socket"}),
	})
	var names []string
	for _, m := range client.Masters() {
		names = append(names, m.Master)
	}
	if want := []string{"localhost:6379", "redis-1:6379", "/no/socket"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// Masters with TLS and without, with a password, an ACL user and a socket lock together in one
// database. The go-redis clients are closed before the first lock.
func TestMastersOfAllKindsLockTogether(t *testing.T) {
	authority, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	const password, name = "p@:/ss", "billing"
	acl := []string{"user locker on >" + password + " ~* &* +@all"}
	configs := []redistest.Config{
		{}, {Password: password}, {TLS: authority, Password: password}, {ACL: acl, Username: "locker", Password: password}, {UnixSocket: true},
	}
	var servers []*redistest.Server
	var clients []redis.UniversalClient
	for i, cfg := range configs {
		s := redistest.Start(t, 1, cfg).Masters[0]
		o := redis.Options{Addr: s.Addr(), Username: cfg.Username, Password: cfg.Password, DB: 2, ClientName: name}
		if i == 0 {
			o.ClientName = "no name of ours"
		}
		if cfg.TLS != nil {
			o.TLSConfig = authority.ClientConfig()
		}
		if cfg.UnixSocket {
			o.Network, o.Addr = "unix", strings.TrimPrefix(s.URL(), "unix://")
		}
		servers, clients = append(servers, s), append(clients, to(t, o))
	}
	client := open(t, clients)
	for _, c := range clients {
		_ = c.Close()
	}
	testutil.Eventually(t, "all masters vote", func() bool {
		return !slices.ContainsFunc(client.Masters(), func(m redlock.MasterReport) bool { return !m.Votes })
	})
	lock, err := client.Lock(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range servers {
		testutil.Eventually(t, "the key is in database 2", func() bool {
			keyspace, err := s.Do("INFO", "keyspace")
			return err == nil && strings.Contains(fmt.Sprintf("%s", keyspace), "db2:")
		})
		want := name
		if i == 0 {
			want = "redquorum"
		}
		list, err := s.Do("CLIENT", "LIST")
		if err != nil || !strings.Contains(fmt.Sprintf("%s", list), "name="+want+" ") {
			t.Errorf("master %d: %s, %v: want a client named %s", i+1, list, err, want)
		}
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// A stream is a provider of credentials that announces changes.
type stream struct {
	mu         sync.Mutex
	now        auth.Credentials
	listeners  map[auth.CredentialsListener]bool
	subscribed int
}

func (s *stream) Subscribe(l auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribed++
	s.listeners[l] = true
	return s.now, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, l)
		return nil
	}, nil
}

func (s *stream) set(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = auth.NewBasicCredentials("locker", password)
	for l := range s.listeners {
		l.OnNext(s.now)
	}
}

// The password of the ACL user changes on the masters, and its connections are cut. Held locks
// stay held and new locks can be acquired, with each kind of provider. go-redis prefers the
// later kinds.
func TestAPasswordThatChangesIsAskedForAtEachDial(t *testing.T) {
	streaming := &stream{listeners: make(map[auth.CredentialsListener]bool)}
	var current atomic.Value
	set := func(password string) { current.Store(password); streaming.set(password) }
	wrong := func() (string, string) { return "locker", "no password of anybody" }
	for name, provide := range map[string]func(o *redis.Options){
		"plain": func(o *redis.Options) {
			o.CredentialsProvider = func() (string, string) { return "locker", current.Load().(string) }
		},
		"with a context": func(o *redis.Options) {
			o.CredentialsProvider = wrong
			o.CredentialsProviderContext = func(context.Context) (string, string, error) { return "locker", current.Load().(string), nil }
		},
		"streaming": func(o *redis.Options) {
			o.CredentialsProviderContext = func(context.Context) (string, string, error) { return "", "", errors.New("not this one") }
			o.StreamingCredentialsProvider = streaming
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := redistest.Start(t, 3, redistest.Config{
				ACL: []string{"user default off", "user locker on >first ~* &* +@all"}, Username: "locker", Password: "first",
			})
			set("first")
			var clients []redis.UniversalClient
			for _, s := range cluster.Masters {
				o := redis.Options{Addr: s.Addr(), Password: "no password of anybody"}
				provide(&o)
				clients = append(clients, to(t, o))
			}
			client := open(t, clients)
			held, err := client.Lock(t.Context(), "held")
			if err != nil {
				t.Fatal(err)
			}
			set("second")
			for _, s := range cluster.Masters {
				if _, err := s.Do("ACL", "SETUSER", "locker", "resetpass", ">second"); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Do("CLIENT", "KILL", "USER", "locker"); err != nil {
					t.Fatal(err)
				}
			}
			testutil.Eventually(t, "all masters are dialed again", func() bool {
				return !slices.ContainsFunc(client.Stats().Masters, func(s pool.Stats) bool { return s.Epoch < 2 || !s.Connected })
			})
			lock, err := client.Lock(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(held.Verify(t.Context()), held.Unlock(t.Context()), lock.Unlock(t.Context())); err != nil {
				t.Error(err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if name == "streaming" && (streaming.subscribed != 3 || len(streaming.listeners) != 0) {
				t.Errorf("%d subscriptions for 3 masters, %d left after Close", streaming.subscribed, len(streaming.listeners))
			}
		})
	}
}

func TestTheFirstLockNamesThePositionOfCredentialsThatFailAndNotThePassword(t *testing.T) {
	const secret = "S3CR3T"
	cluster := redistest.Start(t, 2, redistest.Config{Password: "another"})
	addr := cluster.Masters[1].Addr()
	good, gone := to(t, redis.Options{Addr: cluster.Masters[0].Addr(), Password: "another"}), to(t, redis.Options{Addr: "127.0.0.1:1"})
	for want, o := range map[string]redis.Options{
		"AUTH": {Addr: addr, Password: secret},
		"credentials: no vault": {Addr: addr, CredentialsProviderContext: func(context.Context) (string, string, error) {
			return "", secret, errors.New("no vault for " + secret)
		}},
		"has given no credentials": {Addr: addr, StreamingCredentialsProvider: &stream{listeners: make(map[auth.CredentialsListener]bool)}},
	} {
		client := open(t, []redis.UniversalClient{good, to(t, o), gone}, redlock.WithOutageWait(0))
		var err error
		testutil.Eventually(t, want, func() bool {
			_, err = client.Lock(t.Context(), "key", redlock.WithTries(1))
			return err != nil && strings.Contains(err.Error(), want)
		})
		for _, part := range []string{addr + " (master 2): ", "; mend its credentials"} {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: want %q and no password", err, part)
			}
		}
	}
}

// A dialer that does TLS itself reports a bad certificate as such, because waiting cannot help.
func TestUntrustedCertificateIsReportedAtOnce(t *testing.T) {
	server, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	another, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	addr := redistest.Start(t, 1, redistest.Config{TLS: server}).Masters[0].Addr()
	err = open(t, []redis.UniversalClient{to(t, redis.Options{Addr: addr, TLSConfig: another.ClientConfig()})}).Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "(the master is up): TLS handshake") {
		t.Errorf("%v, want that the master is up and not trusted", err)
	}
}

// For TLS the dialer of go-redis ignores its context. Close does not wait for such a dial; its
// connection is closed as soon as it exists.
func TestCloseDoesNotWaitForADial(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	dialing, gone := make(chan struct{}, 1), make(chan struct{})
	client := open(t, []redis.UniversalClient{to(t, redis.Options{
		Addr: "127.0.0.1:1", TLSConfig: &tls.Config{}, DialTimeout: time.Minute, //nolint:gosec // not used
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) < 10*time.Second {
				t.Errorf("the dial has time until %v, want the client's minute", end)
			}
			dialing <- struct{}{}
			<-gone
			return ours, nil
		},
	})})
	testutil.Await(t, testutil.Bound, "a dial", dialing)
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	close(gone)
	_ = theirs.SetReadDeadline(time.Now().Add(testutil.Bound))
	if _, err := theirs.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is open: %v", err)
	}
}
