package demo

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestALockThatAlwaysGrantsFails(t *testing.T) {
	t.Parallel()
	o := fast()
	o.refusal, o.Stock = time.Second, 50
	o.open = openAs(func(c *fakeClient) {
		c.do = func(ctx context.Context, _ string, fn func(context.Context) error) error { return fn(ctx) }
	})
	res, text, err := shown(t, masters(t, ownMasters).Cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	wantFailed(t, res, "with the lock it is exact", "the lock excludes", "three of five gone, it refuses",
		"it says why", "the books balance")
	if !strings.Contains(text, "✗ FAILED the lock excludes: at most ") || !strings.Contains(text, "\nFAILED 5 of 12 ") {
		t.Errorf("the failures are not shown:\n%s", text)
	}
}

func TestFailuresThatAreNoRefusalsFail(t *testing.T) {
	t.Parallel()
	m := masters(t, ownMasters)
	o := fast()
	o.refusal, o.recovery = 3*time.Second, time.Second
	odd := errors.New("an odd failure")
	var broken atomic.Bool
	o.open = openAs(func(c *fakeClient) {
		c.do = func(ctx context.Context, key string, fn func(context.Context) error) error {
			return c.Client.Do(ctx, key, func(ctx context.Context) error {
				if broken.Load() {
					return odd
				}
				return fn(ctx)
			})
		}
	})
	res, _, err := shown(t, m.bad(func(m Server) error {
		broken.Store(true)
		return m.Kill()
	}, nil), o)
	if err != nil {
		t.Fatal(err)
	}
	wantFailed(t, res, "one of five gone, it goes on", "two of five gone, it goes on", "one back", "the books balance")
	if e := expectation(t, res, "the books balance"); !strings.Contains(e.Detail, odd.Error()) {
		t.Errorf("the odd failure is not named: %s", e.Detail)
	}
}

func TestBuyersWhoDoNotMeetFailTheFirstExpectation(t *testing.T) {
	t.Parallel()
	o := fast()
	var mu sync.Mutex
	o.unguarded = func(ctx context.Context, fn func(context.Context) error) error {
		mu.Lock()
		defer mu.Unlock()
		return fn(ctx)
	}
	res, text, err := shown(t, given(masters(t, 1).URLs), o)
	if err != nil {
		t.Fatal(err)
	}
	wantFailed(t, res, "without a lock it oversells")
	if !strings.Contains(text, "✗ sold 20 of 20: no two buyers met this time") {
		t.Errorf("not shown:\n%s", text)
	}
}

// A badMaster breaks the promises of Server.
type badMaster struct {
	Server
	kill, restart func(Server) error // nil: as promised
}

func (m badMaster) Kill() error {
	if m.kill == nil {
		return m.Server.Kill()
	}
	return m.kill(m.Server)
}

func (m badMaster) Restart(ctx context.Context, keepData bool) error {
	if !keepData || m.restart == nil {
		return m.Server.Restart(ctx, keepData)
	}
	return m.restart(m.Server)
}

// bad wraps each master in a badMaster.
func (e *inside) bad(kill, restart func(Server) error) Cluster {
	for i, m := range e.Cluster.Servers {
		e.Cluster.Servers[i] = badMaster{m, kill, restart}
	}
	return e.Cluster
}

func TestAMasterThatDoesNotComeBackFails(t *testing.T) {
	t.Parallel()
	m := masters(t, ownMasters)
	o := fast()
	o.recovery = 300 * time.Millisecond
	res, text, err := shown(t, m.bad(nil, func(Server) error { return nil }), o)
	if err != nil {
		t.Fatal(err)
	}
	wantFailed(t, res, "one back, it recovers")
	if !strings.Contains(text, "✗ it does not recover: no sale within 300ms") {
		t.Errorf("not shown:\n%s", text)
	}
}

func TestAMasterThatCannotBeRestartedIsAnError(t *testing.T) {
	t.Parallel()
	m := masters(t, ownMasters)
	broken := errors.New("no port for you")
	res, _, err := shown(t, m.bad(nil, func(Server) error { return broken }), fast())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "restarting master 1") {
		t.Fatalf("error %v", err)
	}
	if res.Verdict != VerdictError || res.Error == "" {
		t.Errorf("verdict %q, error %q", res.Verdict, res.Error)
	}
}

func TestAKeyThatIsLeftBehindFails(t *testing.T) {
	t.Parallel()
	m := masters(t, 3)
	o := fast()
	o.TTL = 500 * time.Millisecond
	o.client = append(o.client, redlock.WithPool(pool.WithCommandTimeout(time.Second))) // a twentieth of the TTL is too short for the last look
	var once sync.Once
	var key string
	o.open = openAs(func(c *fakeClient) {
		c.do = func(ctx context.Context, k string, fn func(context.Context) error) error {
			once.Do(func() { key = k })
			return c.Client.Do(ctx, k, fn)
		}
		c.close = func() { // on a minority, which a lock does not even notice
			if err := m.Masters[1].Set(key, "somebody's", 0); err != nil {
				t.Error(err)
			}
		}
	})
	res, _, err := shown(t, given(m.URLs), o)
	if err != nil {
		t.Fatal(err)
	}
	wantFailed(t, res, "nothing is left behind")
	if e := expectation(t, res, "nothing"); !strings.Contains(e.Detail, m.Masters[1].Addr()+": held by another") {
		t.Errorf("the master is not named: %s", e.Detail)
	}
}
