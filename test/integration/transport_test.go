package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func newAuthority(t *testing.T) *redistest.Authority {
	t.Helper()
	a, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func withoutCertificate(a *redistest.Authority) *tls.Config {
	cfg := a.ClientConfig()
	cfg.Certificates = nil
	return cfg
}

// Locks work over every transport that masters can be configured for.
func TestLockingWorksOverEveryTransport(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	mutual := []string{"--tls-auth-clients", "yes"}
	for _, test := range []struct {
		name   string
		cfg    redistest.Config
		opts   []redlock.Option
		scheme string
	}{
		{"TCP", redistest.Config{}, nil, "redis"},
		{"TCP with a password", redistest.Config{Password: "p@ss:w/rd?#%"}, nil, "redis"},
		{"TLS", redistest.Config{TLS: authority}, []redlock.Option{redlock.WithPool(pool.WithTLS(withoutCertificate(authority)))}, "rediss"},
		{"TLS with a certificate and a password", redistest.Config{TLS: authority, Args: mutual, Password: rightPassword}, []redlock.Option{redlock.WithPool(pool.WithTLS(authority.ClientConfig()))}, "rediss"},
		{"unix socket", redistest.Config{UnixSocket: true}, nil, "unix"},
		{"unix socket with a password", redistest.Config{UnixSocket: true, Password: rightPassword}, nil, "unix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := startConfigured(t, test.cfg, five)
			p.trusting = true
			if u, err := url.Parse(p.urls[0]); err != nil || u.Scheme != test.scheme {
				t.Fatalf("URL %s: want %s", p.urls[0], test.scheme)
			}
			c := p.open(append(test.opts, reconnectSoon(), redlock.WithTTL(longTTL))...)
			exercise(t, p, c)
			p.kill(0)
			exercise(t, p, c)
			p.restart(0)
			awaitConnected(t, c, 0)
			exercise(t, p, c)
		})
	}
}

// exercise uses a lock in all ways, and makes another client meet it.
func exercise(t *testing.T, p *processes, c *redlock.Client) {
	t.Helper()
	ctx := context.Background()
	l := mustTry(t, c, "lock")
	if err := errors.Join(l.Extend(ctx), l.Verify(ctx)); err != nil {
		t.Error(err)
	}
	eventually(t, "the holder is told", func() bool {
		_, err := c.TryLock(ctx, "lock")
		wantExactly(t, "TryLock of what is held", err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.Holder](err)
		return ok && h.Token == l.Token()
	})
	token, err := l.HandOver()
	if err != nil {
		t.Fatal(err)
	}
	if l, err = c.Adopt(ctx, "lock", token); err != nil {
		t.Fatal(err)
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// exerciseWaiting makes one call wait for another's lock.
func exerciseWaiting(t *testing.T, p *processes, c *redlock.Client) {
	t.Helper()
	awaitAndUnlock(t, p, c, mustTry(t, c, "lock"))
}

// awaitAndUnlock makes a client wait for the held lock "lock", and releases it.
func awaitAndUnlock(t *testing.T, p *processes, c *redlock.Client, l *redlock.Lock) {
	t.Helper()
	ctx := context.Background()
	got := make(chan error, 1)
	go func() {
		next, err := c.Lock(ctx, "lock")
		if err == nil {
			err = next.Unlock(ctx)
		}
		got <- err
	}()
	p.awaitPilot("lock")
	mustUnlock(t, l)
	if err := <-got; err != nil {
		t.Error(err)
	}
	p.wantFree("lock")
}

// awaitPilot waits until a waiter is in a queue at one of the masters.
func (p *processes) awaitPilot(key string) {
	p.t.Helper()
	testutil.Within(p.t, 3*settleBound, "somebody queues up", func() (queues bool) {
		p.each(func(i int) {
			if n, err := redis.Int(p.command(i, "EXISTS", "redquorum:q:1:{"+key+"}")); err == nil && n == 1 {
				queues = true
			}
		})
		return queues
	})
}
