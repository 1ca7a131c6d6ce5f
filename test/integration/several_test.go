package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

// Two masters are suspended, and would grant another slot than the rest. When
// they wake, what they granted late is released.
func TestALateGrantOfAnotherSlotIsReleased(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open()
	p.foreign("a", strangersToken, 0, 1, 2)
	p.foreign("b", strangersToken, 3, 4)
	p.freeze(3, 4)
	l, err := c.TryLockAny(context.Background(), []string{"a", "b"}, redlock.WithTTL(longTTL))
	if err != nil {
		t.Fatal(err)
	}
	if l.Key() != "b" {
		t.Errorf("got %q, want the slot that is free on a quorum", l.Key())
	}
	p.thaw(3, 4)
	for _, i := range []int{3, 4} {
		eventually(t, "the late grant is released", func() bool {
			return p.calls(i, "evalsha") == 2 && p.pttl(i, "a") == -2
		})
	}
	mustUnlock(t, l)
	p.remove("a")
	p.remove("b")
}

// A set is refused as a whole where any key is anything at all, and the refusal
// tells which key that was.
func TestASetIsRefusedForOneKeyOfAnyType(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	keys := []string{"a", "b", "c"}
	for i := range five {
		p.do(i, "RPUSH", "b", "x")
	}
	_, err := c.TryLockAll(context.Background(), keys)
	wantExactly(t, "TryLockAll", err, redlock.ErrTaken)
	if h, ok := errors.AsType[*redlock.HeldError](err); !ok || h.Type != "" && (h.Key != "b" || h.Type != "list") {
		t.Errorf("%v", err)
	}
	for i := range five {
		if left := fmt.Sprint(p.keys(i)); left != "[b]" {
			t.Errorf("master %d has %s", i, left)
		}
	}
	p.remove("b")
	l, err := c.TryLockAll(context.Background(), keys, redlock.WithTTL(longTTL))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		eventually(t, "all masters have the key", func() bool { return p.holders(key, l.Token()) == five })
		if ms := p.pttl(0, key); ms < 30_000 || ms > 60_000 {
			t.Errorf("%s has %d ms left", key, ms)
		}
	}
	for _, err := range []error{l.Extend(context.Background()), l.Verify(context.Background())} {
		if err != nil {
			t.Error(err)
		}
	}
	mustUnlock(t, l)
	for _, key := range keys {
		p.wantFree(key)
	}
}
