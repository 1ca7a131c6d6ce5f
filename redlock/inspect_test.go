package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// addReader makes a reader of a read-write lock on one master.
func (s *sim) addReader(i int, key, token string, ttl time.Duration) {
	s.T.Helper()
	s.Ask(i, "ZADD", key, fmt.Sprint(s.All[i].Time().Add(ttl).UnixMilli()), token)
	s.Ask(i, "PEXPIRE", key, ttl.Milliseconds())
}

func inspect(t *testing.T, c *redlock.Client, key string) *redlock.Inspection {
	t.Helper()
	in, err := c.Inspect(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestInspectJudgesWhatTheMastersSay(t *testing.T) {
	const key = "key"
	five := func(f func(s *sim, i int)) func(t *testing.T, s *sim) {
		return func(_ *testing.T, s *sim) {
			for i := range 5 {
				f(s, i)
			}
		}
	}
	set := func(s *sim, i int, token string, ttl time.Duration) {
		if err := s.All[i].Set(key, token+"-2345678", ttl); err != nil {
			s.T.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, s *sim)
		verdict redlock.Verdict
		text    string
	}{
		{"nothing there", func(*testing.T, *sim) {}, redlock.VerdictFree, "free on 5 of 5"},
		{"nothing on a quorum", func(_ *testing.T, s *sim) { s.Kill(3, 4) }, redlock.VerdictFree,
			"free on 3 of 5, 2 did not answer"},
		{"nothing on a minority", func(_ *testing.T, s *sim) { s.Kill(2, 3, 4) }, redlock.VerdictUnknown,
			"unknown, 3 did not answer"},
		{"the TTL is that of the quorum", five(func(s *sim, i int) { set(s, i, "a", time.Duration(i+1)*time.Second) }),
			redlock.VerdictHeld, `held by token "a-2…" on 5 of 5, 3.0 s left at the quorum`},
		{"without an expiry on two", five(func(s *sim, i int) { set(s, i, "a", time.Duration(i/2)*300*time.Millisecond) }),
			redlock.VerdictHeld, `held by token "a-2…" on 5 of 5, 600 ms left at the quorum`},
		{"without an expiry", five(func(s *sim, i int) { set(s, i, "a", 0) }), redlock.VerdictHeld,
			`held by token "a-2…" on 5 of 5, no expiry at the quorum`},
		{"a quorum beside another's", five(func(s *sim, i int) { set(s, i, "abbbb"[i:i+1], time.Second) }),
			redlock.VerdictHeld, `held by token "b-2…" on 4 of 5, 1.0 s left at the quorum`},
		{"a quorum while two are down", func(t *testing.T, s *sim) {
			five(func(s *sim, i int) { set(s, i, "a", time.Second) })(t, s)
			s.Kill(0, 1)
		}, redlock.VerdictHeld, `held by token "a-2…" on 3 of 5, 1.0 s left at the quorum, 2 did not answer`},
		{"split", five(func(s *sim, i int) { set(s, i, "aabbc"[i:i+1], time.Second) }), redlock.VerdictSplit,
			`split, nobody has the quorum of 3: token "a-2…" on 2 of 5, token "b-2…" on 2 of 5, token "c-2…" on 1 of 5`},
		{"split among many", five(func(s *sim, i int) { set(s, i, "abcde"[i:i+1], time.Second) }), redlock.VerdictSplit,
			`split, nobody has the quorum of 3: token "a-2…" on 1 of 5, token "b-2…" on 1 of 5, token "c-2…" on 1 of 5, and 2 more`},
		{"a minority", func(_ *testing.T, s *sim) { set(s, 0, "a", time.Second); set(s, 4, "a", time.Second) },
			redlock.VerdictPartial, `held without the quorum of 3: token "a-2…" on 2 of 5`},
		{"a minority that may be a quorum", func(_ *testing.T, s *sim) {
			set(s, 0, "a", time.Second)
			set(s, 1, "a", time.Second)
			s.Kill(4)
		}, redlock.VerdictUnknown, `unknown, token "a-2…" on 2 of 5, 1 did not answer`},
		{"a minority that cannot be a quorum", func(_ *testing.T, s *sim) { set(s, 0, "a", time.Second); s.Kill(4) },
			redlock.VerdictPartial, `held without the quorum of 3: token "a-2…" on 1 of 5, 1 did not answer`},
		{"no lock", five(func(s *sim, i int) { s.Ask(i, "RPUSH", key, "x") }), redlock.VerdictHeld,
			"held by a list that is not a lock on 5 of 5, no expiry at the quorum"},
		{"a reader", five(func(s *sim, i int) { s.addReader(i, key, "r-2345678", 2*time.Second) }), redlock.VerdictHeld,
			`held by reader token "r-2…" on 5 of 5, 2.0 s left at the quorum`},
		{"readers, one of them on a minority", five(func(s *sim, i int) {
			s.addReader(i, key, "r", 2*time.Second)
			s.addReader(i, key, "s", 4*time.Second)
			if i < 2 {
				s.addReader(i, key, "q", time.Second)
			}
		}), redlock.VerdictHeld, `held by 2 readers on a quorum of 5, 4.0 s left of the last`},
		{"readers whose time is over", five(func(s *sim, i int) {
			s.Ask(i, "ZADD", key, s.All[i].Time().UnixMilli(), "r")
		}), redlock.VerdictHeld, "held by a sorted set without readers on 5 of 5, no expiry at the quorum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open()
				test.prepare(t, s)
				before := s.dataKeys()
				in := inspect(t, c, key)
				if in.Verdict != test.verdict || in.String() != test.text {
					t.Errorf("%v: %s\nwant %v: %s", in.Verdict, in, test.verdict, test.text)
				}
				if len(in.Masters) != 5 || in.Key != key || in.Need != 3 {
					t.Errorf("%+v", in)
				}
				if after := s.dataKeys(); strings.Join(before, " ") != strings.Join(after, " ") {
					t.Errorf("keys were %q and are %q", before, after)
				}
			})
		})
	}
}

func TestInspectNamesHolderMasterByMaster(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithKeyPrefix("app:"), redlock.WithOwner("billing"))
		l := mustLock(t, c, "key", redlock.WithLease(10*time.Second))
		time.Sleep(4 * time.Second)
		_ = s.All[0].Set("app:key", "thief", 0)
		s.All[1].FlushAll()
		s.Kill(2)
		in := inspect(t, c, "key")
		if m := in.Masters[0]; m.Held == nil || m.Held.Token != "thief" || m.Held.Owner != "" || m.Held.Own || m.Held.TTL >= 0 || m.Err != nil {
			t.Errorf("%+v", m)
		}
		if m := in.Masters[1]; m.Held != nil || m.Err != nil {
			t.Errorf("%+v", m)
		}
		if m := in.Masters[2]; m.Held != nil || !errors.Is(m.Err, pool.ErrDown) || m.RoundTrip != 0 {
			t.Errorf("%+v", m)
		}
		for _, m := range in.Masters[3:] {
			if h := m.Held; h == nil || h.Token != l.Token() || h.Owner != "billing" || !h.Own || h.TTL != 6*time.Second || h.Type != "string" {
				t.Errorf("%+v", m)
			}
		}
		for i, m := range in.Masters {
			if m.Master != c.Masters()[i].Master {
				t.Errorf("row %d is %s", i, m.Master)
			}
		}
		if h := in.Holders[0]; h.Owner != "billing" || h.Masters != 2 || h.Token != l.Token() {
			t.Errorf("%+v", h)
		}
		if want := `unknown, "billing" on 2 of 5, token "t…" on 1 of 5, 1 did not answer`; in.String() != want {
			t.Errorf("%s: want %s", in, want)
		}
		s.Restart(false, 2)
	})
}

// If a master lists fewer readers than it has, a reader that no master lists may have a quorum.
func TestInspectDoesNotGuessWhatManyReadersHide(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for i := range 3 {
			for n := range 150 {
				s.addReader(i, "key", fmt.Sprintf("m%d-r%d", i, n), 5*time.Second)
			}
		}
		in := inspect(t, c, "key")
		if in.Verdict != redlock.VerdictUnknown {
			t.Error(in)
		}
		if m := in.Masters[0]; len(m.Readers) != 100 || m.Held.Readers != 150 {
			t.Errorf("%d of %d readers", len(m.Readers), m.Held.Readers)
		}
		for i := range 3 {
			s.addReader(i, "key", "the same", 6*time.Second)
		}
		if in = inspect(t, c, "key"); in.Verdict != redlock.VerdictHeld || in.Holders[0].Token != "the same" {
			t.Error(in)
		}
	})
}

func TestInspectWaitsForAllButForAFrozenMasterNoLongerThanTheTimeout(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key")
		s.Freeze(0)
		time.AfterFunc(100*time.Millisecond, s.All[0].Thaw)
		began := time.Now()
		in := inspect(t, c, "key")
		if d := time.Since(began); d != 100*time.Millisecond || strings.Contains(in.String(), "did not") {
			t.Errorf("after %v: %s", d, in)
		}
		if fast, slow := in.Masters[1].RoundTrip, in.Masters[0].RoundTrip; fast != 0 || slow != 100*time.Millisecond {
			t.Errorf("round trips of %v and %v", fast, slow)
		}

		s.Freeze(0, 1)
		within(t, 250*time.Millisecond, func() { in = inspect(t, c, "key") })
		if in.Verdict != redlock.VerdictHeld || !errors.Is(in.Masters[0].Err, pool.ErrTimeout) {
			t.Errorf("%s, %+v", in, in.Masters[0])
		}
		s.Thaw(0, 1)
		synctest.Wait()
		if in = inspect(t, c, "key"); in.Holders[0].Token != l.Token() || in.Holders[0].Masters != 5 {
			t.Error(in)
		}
		unlock(t, l)
	})
}

func TestInspectFailsOnlyWhereNothingCanBeSaid(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for _, key := range []string{"", strings.Repeat("x", 1025), "redquorum:x"} {
			if _, err := c.Inspect(t.Context(), key); err == nil || !strings.Contains(err.Error(), "inspect") {
				t.Errorf("key %.20q: %v", key, err)
			}
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Inspect(over, "key")
		wantExactly(t, err, context.Canceled)

		s.Freeze(0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err = c.Inspect(ctx, "key")
		wantExactly(t, err, context.DeadlineExceeded)

		time.AfterFunc(10*time.Millisecond, func() { _ = c.Close() })
		_, err = c.Inspect(t.Context(), "key")
		wantExactly(t, err, redlock.ErrClosed)
		_, err = c.Inspect(t.Context(), "key")
		wantExactly(t, err, redlock.ErrClosed)
		s.Thaw(0)
	})
}
