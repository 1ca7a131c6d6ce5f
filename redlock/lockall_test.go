package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redquorum/redquorum/redlock"
)

func TestTheKeysOfASetAreSortedAndThereOnce(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithKeyPrefix("shop:"))
		given := []string{"c", "a", "b", "a", "c"}
		l := s.must(c.LockAll(t.Context(), given))
		if got := l.Keys(); !slices.Equal(got, []string{"a", "b", "c"}) || l.Key() != "a" {
			t.Errorf("Keys are %q, Key is %q", got, l.Key())
		}
		if !slices.Equal(given, []string{"c", "a", "b", "a", "c"}) {
			t.Errorf("the caller's slice is %q now", given)
		}
		for _, key := range l.Keys() {
			if n := s.holders("shop:"+key, l.Token()); n != 3 {
				t.Errorf("%s is on %d masters", key, n)
			}
		}
		_, err := s.open(redlock.WithKeyPrefix("shop:")).TryLockAll(t.Context(), []string{"b", "z"})
		if h, ok := errors.AsType[*redlock.Holder](err); !ok || h.Key != "b" || h.Token != l.Token() || h.TTL <= 0 {
			t.Errorf("%v does not say which key is held by whom: %+v", err, h)
		}
		unlock(t, l)
		s.wantClean()

		one := s.must(c.LockAll(t.Context(), []string{"x", "x"}))
		if got := one.Keys(); !slices.Equal(got, []string{"x"}) {
			t.Errorf("Keys are %q", got)
		}
		if n := s.All[0].Commands()["SET"]; n != 1 {
			t.Errorf("%d SET commands: want one, as for any lock of one key", n)
		}
		unlock(t, one)
		s.wantClean()
	})
}

func TestBadSetsAreRefusedAndSendNothing(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		tooMany := make([]string, 129)
		for i := range tooMany {
			tooMany[i] = fmt.Sprint(i)
		}
		before := s.All[0].Commands()
		for _, test := range []struct {
			keys []string
			want string
		}{
			{nil, "0 keys: want 1 to 128"},
			{[]string{}, "0 keys: want 1 to 128"},
			{tooMany, "129 keys: want 1 to 128"},
			{[]string{"a", ""}, "number 2 of 2 keys: the key is empty"},
			{[]string{"a", strings.Repeat("x", 1025), "b"}, "number 2 of 3 keys: the key has 1025 bytes: want 1 to 1024"},
			{[]string{"redquorum:x", "b"}, `number 1 of 2 keys: key "redquorum:x": the prefix "redquorum:" is reserved`},
		} {
			_, all := c.LockAll(t.Context(), test.keys)
			_, tryAll := c.TryLockAll(t.Context(), test.keys)
			_, some := c.LockAny(t.Context(), test.keys)
			_, trySome := c.TryLockAny(t.Context(), test.keys)
			for _, err := range []error{all, tryAll, some, trySome} {
				if err == nil || !strings.HasSuffix(err.Error(), test.want) {
					t.Errorf("%v: want %q", err, test.want)
				}
			}
		}
		synctest.Wait()
		if after := s.All[0].Commands(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("commands were sent: %v, then %v", before, after)
		}
		if l, err := c.LockAll(t.Context(), tooMany[:128]); err != nil {
			t.Error(err)
		} else if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		s.wantClean()
	})
}

func TestASetUnderAHoldOnOneOfItsKeysIsRefused(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		l := mustLock(t, c, "b")
		_, err := c.TryLockAll(l.Context(), []string{"a", "b", "c"})
		wantExactly(t, err, redlock.ErrReentrant)
		if !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("%v does not name the key", err)
		}
		_, err = d.TryLockAll(l.Context(), []string{"a", "b"}) // the hold belongs to another client
		wantExactly(t, err, redlock.ErrTaken)
		set := s.must(c.LockAll(t.Context(), []string{"x", "y"}))
		_, err = c.TryLock(set.Context(), "y")
		wantExactly(t, err, redlock.ErrReentrant)
		_, err = c.TryLockAll(set.Context(), []string{"w", "x"})
		wantExactly(t, err, redlock.ErrReentrant)
		_ = l.Unlock(t.Context())
		_ = set.Unlock(t.Context())
		s.wantClean()
	})
}

// The keys of a set are plain locks with one token: each can be handed over.
func TestTheKeysOfASetCanBeAdoptedOneByOne(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		token := handedOver(t, s.must(c.LockAll(t.Context(), []string{"a", "b"})))
		for _, key := range []string{"a", "b"} {
			l := s.must(d.Adopt(t.Context(), key, token))
			unlock(t, l)
		}
		s.wantClean()
	})
}
