package redsync_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	upstream "github.com/go-redsync/redsync/v4"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
)

func TestOneOfManyHoldsTheLock(t *testing.T) {
	f := startFleet(t, 5)
	var inside atomic.Int32
	var group errgroup.Group
	for range 4 {
		rs := redsync.New(f.open())
		for range 3 {
			group.Go(func() error {
				mutex := rs.NewMutex("lock", redsync.WithTries(10_000), redsync.WithRetryDelay(2*time.Millisecond))
				for range 5 {
					if err := mutex.Lock(); err != nil {
						return err
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d hold the lock", n)
					}
					inside.Add(-1)
					if ok, err := mutex.Unlock(); !ok || err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	f.wantFree("lock")
}

func TestMutexesHereAndOfRedsyncExcludeEachOther(t *testing.T) {
	f := startFleet(t, 5)
	ours := redsync.New(f.open()).NewMutex("lock", redsync.WithTries(1))
	theirs := f.upstream().NewMutex("lock", upstream.WithTries(1))

	if err := theirs.Lock(); err != nil {
		t.Fatal(err)
	}
	if taken := wantTaken(t, ours.Lock()); len(taken.Nodes) == 0 {
		t.Error("it is taken on no master")
	}
	if ok, err := theirs.Unlock(); !ok || err != nil {
		t.Fatalf("redsync's Unlock: %v, %v", ok, err)
	}
	if err := ours.Lock(); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*upstream.ErrTaken](theirs.Lock()); !ok {
		t.Error("redsync took what is held here")
	}
	if ok, err := ours.Unlock(); !ok || err != nil {
		t.Fatalf("Unlock: %v, %v", ok, err)
	}
	f.wantFree("lock")
}

// wantTaken wants what redsync's users look for, and what redlock's do.
func wantTaken(t *testing.T, err error) *redsync.ErrTaken {
	t.Helper()
	taken, ok := errors.AsType[*redsync.ErrTaken](err)
	if !ok || !errors.Is(err, redlock.ErrTaken) {
		t.Fatalf("got %v, want *redsync.ErrTaken and redlock.ErrTaken", err)
	}
	return taken
}

func TestErrTakenNumbersTheMastersAsTheURLsAre(t *testing.T) {
	f := startFleet(t, 5)
	for _, i := range []int{1, 3, 4} {
		if _, err := f.Masters[i].Do("SET", "lock", "somebody else's"); err != nil {
			t.Fatal(err)
		}
	}
	client := f.open()
	if err := client.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := wantTaken(t, redsync.New(client).NewMutex("lock").TryLock())
	if len(taken.Nodes) != 3 || taken.Nodes[0] != 1 || taken.Nodes[1] != 3 || taken.Nodes[2] != 4 {
		t.Errorf("taken on %v, want 1, 3 and 4", taken.Nodes)
	}
}

func TestAMutexIsNotRenewedAndEndsAfterItsExpiry(t *testing.T) {
	f := startFleet(t, 5)
	mutex := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(200*time.Millisecond))
	began := time.Now()
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	if until := mutex.Until(); until.Before(began) || until.After(time.Now().Add(200*time.Millisecond)) {
		t.Errorf("valid until %v, locked at %v for 200 ms", until, began)
	}
	f.wantFree("lock")
	if time.Now().Before(mutex.Until()) {
		t.Error("it is valid for longer than its keys live")
	}

	ok, err := mutex.Extend()
	if _, taken := errors.AsType[*redsync.ErrTaken](err); ok || !taken || !errors.Is(err, redsync.ErrExtendFailed) || !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Extend of an expired lock: %v, %v", ok, err)
	}
	if ok, err := mutex.Valid(); ok || !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Valid of an expired lock: %v, %v", ok, err)
	}
	if ok, err := mutex.Unlock(); ok || !errors.Is(err, redsync.ErrLockAlreadyExpired) || !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Unlock of an expired lock: %v, %v", ok, err)
	}
	if err := mutex.Lock(); err != nil {
		t.Errorf("locking again: %v", err)
	}
}

func TestExtendMovesUntil(t *testing.T) {
	f := startFleet(t, 3)
	mutex := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(10*time.Second))
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	first := mutex.Until()
	eventually(t, "a later extension ends later", func() bool {
		ok, err := mutex.Extend()
		if !ok || err != nil {
			t.Fatalf("Extend: %v, %v", ok, err)
		}
		return mutex.Until().After(first)
	})
	if ok, err := mutex.Valid(); !ok || err != nil {
		t.Errorf("Valid: %v, %v", ok, err)
	}
}

func TestUnlockingTwiceIsTold(t *testing.T) {
	f := startFleet(t, 3)
	mutex := redsync.New(f.open()).NewMutex("lock")
	if ok, err := mutex.Unlock(); ok || !errors.Is(err, redsync.ErrLockAlreadyExpired) || !errors.Is(err, redlock.ErrNotHeld) {
		t.Errorf("Unlock before Lock: %v, %v", ok, err)
	}
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	if ok, err := mutex.Unlock(); !ok || err != nil {
		t.Errorf("Unlock: %v, %v", ok, err)
	}
	if ok, err := mutex.Unlock(); ok || !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		t.Errorf("the second Unlock: %v, %v", ok, err)
	}
}

func TestAContextThatEndsWhileLockWaitsIsErrFailed(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	if err := rs.NewMutex("lock").Lock(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := rs.NewMutex("lock", redsync.WithTries(1000)).LockContext(ctx)
	if !errors.Is(err, redsync.ErrFailed) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, redlock.ErrTaken) {
		t.Errorf("got %v, want ErrFailed, the context's error and redlock.ErrTaken", err)
	}
}

func TestMastersThatAreDownAreRedisErrors(t *testing.T) {
	f := startFleet(t, 5)
	client := f.open()
	mutex := redsync.New(client).NewMutex("lock", redsync.WithTries(2), redsync.WithRetryDelay(time.Millisecond))
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 2, 3} {
		if err := f.Masters[i].Kill(); err != nil {
			t.Fatal(err)
		}
	}
	_, extend := mutex.Extend()
	_, valid := mutex.Valid()
	_, unlock := mutex.Unlock()
	for what, err := range map[string]error{
		"Extend": extend, "Valid": valid, "Unlock": unlock, "Lock": redsync.New(client).NewMutex("other", redsync.WithTries(2)).Lock(),
		"Valid of a value": second(redsync.New(client).NewMutex("lock", redsync.WithValue("x")).Valid()),
	} {
		node, ok := errors.AsType[*redsync.RedisError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%s: %v, want a *RedisError and redlock.ErrNoQuorum", what, err)
		} else if node.Node != 0 {
			t.Errorf("%s: the first error is of master %d, want 0: %v", what, node.Node, err)
		}
	}
}

func second(_ bool, err error) error { return err }

func TestAnExpiryAboveTheClientsMaxTTLIsRefused(t *testing.T) {
	f := startFleet(t, 3)
	err := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(2*time.Minute)).Lock()
	if err == nil || !strings.Contains(err.Error(), "WithMaxTTL") {
		t.Errorf("got %v, want an error that names WithMaxTTL", err)
	}
	if err := redsync.New(f.open()).NewMutex("lock", redsync.WithTries(0)).Lock(); !errors.Is(err, redsync.ErrFailed) {
		t.Errorf("with no tries: %v, want ErrFailed", err)
	}
}

// redsync would count these masters, and grant the lock twice.
func TestALockIsNotGrantedTwiceByMastersThatRestartedEmpty(t *testing.T) {
	f := startFleet(t, 5)
	holder := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(50*time.Second))
	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Masters[:3] {
		if err := s.Restart(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	second := f.upstream().NewMutex("lock", upstream.WithTries(1))
	if err := second.Lock(); err != nil {
		t.Fatalf("redsync counts the empty masters, so it gets the lock; but: %v", err)
	}
	if ok, err := second.Unlock(); !ok || err != nil {
		t.Fatal(err)
	}

	err := redsync.New(f.open()).NewMutex("lock", redsync.WithTries(3)).Lock()
	if _, abstains := errors.AsType[*redlock.AbstainError](err); !abstains {
		t.Errorf("got %v, want an error that says which masters abstain", err)
	}

	// While the other two answer, an attempt may be decided by one that has the key: it is taken.
	for _, s := range f.Masters[3:] {
		if err := s.Freeze(); err != nil {
			t.Fatal(err)
		}
	}
	err = redsync.New(f.open()).NewMutex("lock", redsync.WithTries(1)).Lock()
	if _, ok := errors.AsType[*redsync.RedisError](err); !ok {
		t.Errorf("got %v, want a *redsync.RedisError for a master that abstains", err)
	}
}
