package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

var someURLs = []string{"redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"}

// Every bad option is refused with its name, the value and the range.
func TestBadOptionsAreRefusedByName(t *testing.T) {
	strict, short := redlock.WithGuard(redlock.GuardStrict), redlock.WithTTL(20*time.Millisecond)
	for _, test := range []struct {
		opt  redlock.Option
		want []string
		more []redlock.Option // set together with opt
	}{
		{redlock.WithTTL(19 * time.Millisecond), []string{"WithTTL", "19ms", "20ms"}, nil},
		{redlock.WithTTL(25 * time.Hour), []string{"WithTTL", "25h", "24h"}, nil},
		{redlock.WithTTL(2 * time.Minute), []string{"WithTTL", "2m0s", "WithMaxTTL", "1m0s"}, nil},
		{redlock.WithTTL(time.Second + time.Microsecond), []string{"WithTTL", "1.000001s", "milliseconds"}, nil},
		{redlock.WithLease(0), []string{"WithLease", "0s", "20ms"}, nil},
		{redlock.WithLease(time.Hour), []string{"redlock: WithLease: 1h0m0s is above WithMaxTTL: want 20ms to 1m0s"}, nil},
		{redlock.WithMaxTTL(5 * time.Second), []string{"redlock: the default TTL (WithTTL): 10s is above WithMaxTTL: want 20ms to 5s"}, nil},
		{redlock.WithRenewal(redlock.Renewal{Every: time.Millisecond}), []string{"WithRenewal", "1ms", "5ms"}, nil},
		{redlock.WithRenewal(redlock.Renewal{Every: 6 * time.Second}), []string{"WithRenewal", "6s", "5s"}, nil},
		{redlock.WithRenewal(redlock.Renewal{MaxHold: -1}), []string{"WithRenewal", "MaxHold", "-1ns"}, nil},
		{redlock.WithRenewal(redlock.Renewal{MaxCount: -1}), []string{"WithRenewal", "MaxCount", "-1"}, nil},
		{redlock.WithTries(0), []string{"WithTries", "0", "1"}, nil},
		{redlock.WithBackoff(nil), []string{"WithBackoff", "nil"}, nil},
		{redlock.WithOwner(""), []string{"WithOwner", `""`}, nil},
		{redlock.WithOwner("a:b"), []string{"WithOwner", `"a:b"`}, nil},
		{redlock.WithOwner(strings.Repeat("x", 65)), []string{"WithOwner", "64"}, nil},
		{redlock.WithMaxTTL(time.Millisecond), []string{"WithMaxTTL", "1ms"}, nil},
		{redlock.WithDrift(drift.Policy{Factor: -1}), []string{"WithDrift", "Factor", "-1"}, nil},
		{redlock.WithDrift(drift.Policy{Factor: 0.5, Floor: 6 * time.Second}), []string{"WithTTL", "10s", "drift", "11s"}, nil},
		{redlock.WithClock(nil), []string{"WithClock", "nil"}, nil},
		{redlock.WithWait(time.Millisecond - 1), []string{"WithWait: 999.999µs: want 1ms to 24h0m0s"}, nil},
		{redlock.WithWait(24*time.Hour + 1), []string{"WithWait: 24h0m0.000000001s: want 1ms to 24h0m0s"}, nil},
		{redlock.WithOutageWait(-1), []string{"WithOutageWait", "-1ns"}, nil},
		{redlock.WithKeyPrefix("redquorum:x"), []string{"WithKeyPrefix", "redquorum:"}, nil},
		{redlock.WithKeyPrefix(strings.Repeat("p", 1024)), []string{"WithKeyPrefix: the prefix has 1024 bytes", "at most 1024 together"}, nil},
		{redlock.WithPool(pool.WithStallLimit(0)), []string{"WithStallLimit", "0s", "10ms"}, nil},
		{redlock.WithTrace(nil), []string{"WithTrace", "nil"}, nil},
		{redlock.WithGuard("lenient"), []string{"WithGuard", "lenient"}, nil},
		{nil, []string{"option is nil"}, nil},
		{redlock.WithClientSkew(-1), []string{"WithClientSkew: -1ns: want 0 to 24h0m0s"}, nil},
		{redlock.WithClientSkew(24*time.Hour + 1), []string{"WithClientSkew: 24h0m0.000000001s: want 0 to"}, nil},
		// A fence has to outlast the quarantine.
		{redlock.WithFenceRetention(2 * time.Hour), []string{"WithFenceRetention: 2h0m0s: want 3h2m0s"}, []redlock.Option{redlock.WithClientSkew(time.Hour)}},
		{redlock.WithFenceRetention(2 * time.Hour), []string{"WithFenceRetention: 2h0m0s"}, []redlock.Option{redlock.WithMaxTTL(time.Hour)}},
		{redlock.WithFenceRetention(time.Minute), []string{"WithFenceRetention", "1m0s"}, nil},
		{redlock.WithFenceRetention(366 * 24 * time.Hour), []string{"WithFenceRetention", "8784h0m0s"}, nil},
		{redlock.WithClockError(-1), []string{"WithClockError", "-1ns"}, nil},
		{redlock.WithClockError(11 * time.Second), []string{"WithClockError", "11s"}, nil},
		// A quarter of the TTL has to be left. By hand: 0.89 TTL - 502 ms - E, from 5 s on 0.99 TTL - 1002 ms - E.
		{redlock.WithClockError(200 * time.Millisecond), []string{
			"redlock: WithLease: 1s leaves a validity of 188ms after a clock drift of 12ms, clocks that are off by 100ms and by 500ms with GuardStrict, ",
			"and WithClockError(200ms): want 1.097s or more, which leaves a quarter",
		}, []redlock.Option{redlock.WithStrict(), redlock.WithLease(time.Second)}},
		{redlock.WithClockError(10 * time.Second), []string{"WithTTL: 11s leaves a validity of 0s ", ": want 14.868s or more"}, []redlock.Option{redlock.WithStrict(), redlock.WithTTL(11 * time.Second)}},
		{redlock.WithClockError(900 * time.Millisecond), []string{"no TTL up to WithMaxTTL(1s) leaves a quarter: raise it, or lower "}, []redlock.Option{redlock.WithStrict(), redlock.WithMaxTTL(time.Second), redlock.WithTTL(time.Second)}},
		{redlock.WithDrift(drift.Policy{Factor: 0.5}), []string{"redlock: WithTTL: 20ms"}, []redlock.Option{strict, short}},
		{redlock.WithDrift(drift.Policy{Floor: 16 * time.Millisecond}), []string{"redlock: WithTTL: 20ms leaves a validity of 4ms after a clock drift of 16ms: want 22ms or more"}, []redlock.Option{short}},
		// The error gives a possible range: never one whose end lies before its beginning.
		{strict, []string{"redlock: WithMaxTTL: 500ms: want 1s to 24h0m0s with GuardStrict"}, []redlock.Option{redlock.WithMaxTTL(500 * time.Millisecond), short}},
		{strict, []string{"redlock: WithTTL: 20ms: want 1s to 2s with GuardStrict"}, []redlock.Option{redlock.WithMaxTTL(2 * time.Second), short}},
		{strict, []string{"redlock: WithTTL: 3s is above WithMaxTTL: want 1s to 2s"}, []redlock.Option{redlock.WithMaxTTL(2 * time.Second), redlock.WithTTL(3 * time.Second)}},
	} {
		c, err := redlock.Open(someURLs, append(test.more, test.opt)...)
		if err == nil {
			_ = c.Close()
			t.Errorf("accepted: want an error with %q", test.want)
			continue
		}
		for _, part := range test.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is more than a line", err)
		}
	}
}

func TestTheLastOptionCounts(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTTL(20*time.Second), redlock.WithTTL(30*time.Second))
		for _, test := range []struct {
			opts []redlock.LockOption
			want time.Duration
		}{
			{nil, 30 * time.Second},
			{[]redlock.LockOption{redlock.WithTTL(5 * time.Second)}, 5 * time.Second},
			{[]redlock.LockOption{redlock.WithTTL(5 * time.Second), redlock.WithLease(7 * time.Second)}, 7 * time.Second},
		} {
			l := mustLock(t, c, "key", test.opts...)
			synctest.Wait()
			if ttl, _ := s.All[0].TTL("key"); ttl != test.want {
				t.Errorf("TTL is %v: want %v", ttl, test.want)
			}
			_ = l.Unlock(t.Context())
		}
	})
}

func TestBadCallsAreRefusedAndSendNothing(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		never := func(context.Context) error { t.Error("fn ran"); return nil }
		for _, test := range []struct {
			key  string
			opt  redlock.LockOption
			want string
		}{
			{"", redlock.WithTTL(time.Second), "key is empty"},
			{strings.Repeat("k", 1025), redlock.WithTTL(time.Second), "1025"},
			{"redquorum:marker", redlock.WithTTL(time.Second), "reserved"},
			{"key", redlock.WithTTL(time.Millisecond), "WithTTL"},
			{"key", redlock.WithTTL(2 * time.Minute), "WithMaxTTL"},
			{"key", nil, "nil"},
		} {
			for name, f := range map[string]func() error{
				"Lock":    func() error { _, err := c.Lock(t.Context(), test.key, test.opt); return err },
				"TryLock": func() error { _, err := c.TryLock(t.Context(), test.key, test.opt); return err },
				"Adopt":   func() error { _, err := c.Adopt(t.Context(), test.key, "token", test.opt); return err },
				"Do":      func() error { return c.Do(t.Context(), test.key, never, test.opt) },
				"TryDo":   func() error { return c.TryDo(t.Context(), test.key, never, test.opt) },
				"Lead":    func() error { return c.Lead(t.Context(), test.key, never, test.opt) },
			} {
				err := f()
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s(%.20q): %v: want an error with %q", name, test.key, err, test.want)
				}
			}
		}
		for _, err := range []error{
			c.Do(t.Context(), "key", nil), c.TryDo(t.Context(), "key", nil), c.Lead(t.Context(), "key", nil),
			c.Semaphore("pool", 1).Do(t.Context(), nil),
		} {
			if err == nil || !strings.Contains(err.Error(), "the function is nil") {
				t.Errorf("%v: want an error that says that the function is nil", err)
			}
		}
		for _, m := range s.All {
			if n := m.Commands(); n["SET"] != 0 || n["EVALSHA"] > 1 { // the guard tries EVALSHA
				t.Errorf("something was sent: %v", n)
			}
		}
	})
}

func TestNewUsesTheCallersPoolAndLeavesItOpen(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		p, err := pool.New(s.URLs(), pool.WithDialer(s.Dialer()))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := redlock.New(p, redlock.WithPool(pool.WithDatabase(1))); err == nil || !strings.Contains(err.Error(), "WithPool") {
			t.Errorf("WithPool beside a pool: %v", err)
		}
		for range 2 {
			c, err := redlock.New(p)
			if err != nil {
				t.Fatal(err)
			}
			l := mustLock(t, c, "key")
			unlock(t, l)
			_ = c.Close()
		}
		for _, st := range p.Stats() {
			if !st.Connected {
				t.Errorf("%s: %v", st.Name, st.Err)
			}
		}
	})
	if _, err := redlock.New(nil); err == nil {
		t.Error("a nil pool was accepted")
	}
}

func TestReadyNamesTheMastersThatAreMissing(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		within(t, 0, func() {
			if err := c.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
		s.Kill(0, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Ready(ctx)
		wantExactly(t, err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		q, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || q.OK != 2 || q.Need != 3 || q.Nodes.Len() != 3 || !errors.Is(err, pool.ErrDown) {
			t.Errorf("%v", err)
		}
		s.Restart(true, 0)
		if err := c.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
