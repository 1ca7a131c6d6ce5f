package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// soon keeps contenders of several clients, who split the votes of five masters
// now and then, from resting long before they try again.
func soon() redlock.Option {
	return redlock.WithBackoff(func(attempt int) time.Duration {
		return time.Duration(attempt%7+1) * 2 * time.Millisecond
	})
}

// whileMastersDie runs f while one master after the other is killed, and
// started again once progress has grown without it.
func (p *processes) whileMastersDie(progress *atomic.Int32, f func()) {
	p.t.Helper()
	finished := make(chan struct{})
	go func() { defer close(finished); f() }()
	over := func() bool {
		select {
		case <-finished:
			return true
		default:
			return false
		}
	}
	for n := 0; !over(); n = (n + 1) % five {
		before := progress.Load()
		p.kill(n)
		eventually(p.t, "there is progress with one master down", func() bool { return over() || progress.Load() > before })
		p.restart(n)
	}
}

// Sets that overlap in all ways, from several clients, while masters come and
// go: no key is ever held twice, and everybody progresses.
func TestOverlappingSetsProgressAndNeverShareAKey(t *testing.T) {
	const each = 25
	sets := [][]string{{"a", "b"}, {"c", "b"}, {"c", "a"}, {"a", "b", "c"}, {"d", "c"}, {"d", "a"}}
	p := startPersistent(t, five)
	p.trusting = true
	var inside [4]atomic.Int32 // holders of a to d
	var taken atomic.Int32
	var wg sync.WaitGroup
	for n, keys := range sets {
		c := p.open(reconnectSoon(), soon(), redlock.WithTTL(longTTL), redlock.WithOutageWait(time.Minute))
		wg.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				l, err := c.LockAll(ctx, keys)
				cancel()
				if err != nil {
					t.Errorf("client %d: %v", n, err)
					return
				}
				taken.Add(1)
				for _, key := range keys {
					if others := inside[key[0]-'a'].Add(1) - 1; others != 0 {
						t.Errorf("%d others hold %s", others, key)
					}
				}
				for _, key := range keys {
					inside[key[0]-'a'].Add(-1)
				}
				if err := l.Unlock(context.Background()); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("client %d: %v", n, err)
				}
			}
		})
	}
	p.whileMastersDie(&taken, wg.Wait)
	if got := int(taken.Load()); got != each*len(sets) {
		t.Errorf("held %d times, want %d", got, each*len(sets))
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		p.wantFree(key)
	}
}

// Three slots and six who want one, while masters come and go: never a slot
// held twice, so never four inside; then exactly one slot is left a holder.
func TestNeverMoreHoldersThanSlots(t *testing.T) {
	const permits, clients, each = 3, 6, 25
	keys := []string{"slot 0", "slot 1", "slot 2"}
	p := startPersistent(t, five)
	p.trusting = true
	var inside [permits]atomic.Int32
	var all, taken atomic.Int32
	var wg sync.WaitGroup
	for n := range clients {
		c := p.open(reconnectSoon(), soon(), redlock.WithTTL(longTTL), redlock.WithOutageWait(time.Minute))
		wg.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				l, err := c.LockAny(ctx, keys)
				cancel()
				if err != nil {
					t.Errorf("client %d: %v", n, err)
					return
				}
				taken.Add(1)
				slot := &inside[l.Key()[len(l.Key())-1]-'0']
				if others, sum := slot.Add(1)-1, all.Add(1); others != 0 || sum > permits {
					t.Errorf("%d others hold %s, %d are inside", others, l.Key(), sum)
				}
				all.Add(-1)
				slot.Add(-1)
				if err := l.Unlock(context.Background()); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("client %d: %v", n, err)
				}
			}
		})
	}
	p.whileMastersDie(&taken, wg.Wait)
	if got := int(taken.Load()); got != clients*each {
		t.Errorf("held %d times, want %d", got, clients*each)
	}
	for _, key := range keys {
		p.wantFree(key)
	}

	c := p.open(soon())
	var held []*redlock.Lock
	for range permits {
		l, err := c.LockAny(context.Background(), keys)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	for _, l := range held {
		eventually(t, "the others' slots are released", func() bool {
			n := 0
			for _, key := range keys {
				n += p.holders(key, l.Token())
			}
			return n == p.holders(l.Key(), l.Token()) && n >= quorum
		})
	}
	_, err := c.TryLockAny(context.Background(), keys)
	wantExactly(t, "a fourth", err, redlock.ErrTaken)
	for _, l := range held {
		mustUnlock(t, l)
	}
	for _, key := range keys {
		p.wantFree(key)
	}
}

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
