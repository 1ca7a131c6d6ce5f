package redsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	upstream "github.com/go-redsync/redsync/v4"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/internal/rig"
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
	ours := redsync.New(f.ready()).NewMutex("lock", redsync.WithTries(1))
	theirs := f.upstream().NewMutex("lock", upstream.WithTries(1))

	f.must(theirs.Lock())
	if taken := wantTaken(t, ours.Lock()); len(taken.Nodes) == 0 {
		t.Error("it is taken on no master")
	}
	f.wantOK(theirs.Unlock())
	f.must(ours.Lock())
	if _, ok := errors.AsType[*upstream.ErrTaken](theirs.Lock()); !ok {
		t.Error("redsync took what is held here")
	}
	f.wantOK(ours.Unlock())
	f.wantFree("lock")
}

// wantTaken wants the bare error, as redsync returns it.
func wantTaken(t *testing.T, err error) *redsync.ErrTaken {
	t.Helper()
	taken, ok := err.(*redsync.ErrTaken) //nolint:errorlint // users do so
	if !ok {
		t.Fatalf("got %T, %v, want a *redsync.ErrTaken", err, err)
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
	client := f.ready()
	taken := wantTaken(t, redsync.New(client).NewMutex("lock").TryLock())
	if !slices.Equal(taken.Nodes, []int{1, 3, 4}) {
		t.Errorf("taken on %v, want 1, 3 and 4", taken.Nodes)
	}
}

func TestAMutexIsNotRenewedAndEndsAfterItsExpiry(t *testing.T) {
	f := startFleet(t, 5)
	mutex := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(200*time.Millisecond))
	began := time.Now()
	f.must(mutex.Lock())
	if until := mutex.Until(); until.Before(began) || until.After(time.Now().Add(200*time.Millisecond)) {
		t.Errorf("valid until %v, locked at %v for 200 ms", until, began)
	}
	f.wantFree("lock")
	if time.Now().Before(mutex.Until()) {
		t.Error("it is valid for longer than its keys live")
	}

	_ = wantTaken(t, f.refusal(mutex.Extend()))
	_ = wantTaken(t, f.refusal(mutex.Valid()))
	f.wantIs(f.refusal(mutex.Unlock()), redsync.ErrLockAlreadyExpired, redlock.ErrLost)
	f.must(mutex.Lock()) // again
}

func TestExtendMovesUntil(t *testing.T) {
	f := startFleet(t, 3)
	mutex := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(10*time.Second))
	f.must(mutex.Lock())
	first := mutex.Until()
	rig.Eventually(t, "a later extension ends later", func() bool {
		f.wantOK(mutex.Extend())
		return mutex.Until().After(first)
	})
	f.wantOK(mutex.Valid())
}

func TestUnlockingTwiceIsTold(t *testing.T) {
	f := startFleet(t, 3)
	mutex := redsync.New(f.open()).NewMutex("lock")
	f.wantIs(f.refusal(mutex.Unlock()), redsync.ErrLockAlreadyExpired, redlock.ErrNotHeld) // before Lock
	f.must(mutex.Lock())
	f.wantOK(mutex.Unlock())
	f.wantIs(f.refusal(mutex.Unlock()), redsync.ErrLockAlreadyExpired)
}

func TestAContextThatEndsWhileLockWaitsIsErrFailed(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	f.must(rs.NewMutex("lock").Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f.wantIs(rs.NewMutex("lock", redsync.WithTries(1000)).LockContext(ctx), redsync.ErrFailed)
}

func TestMastersThatAreDownAreRedisErrors(t *testing.T) {
	f := startFleet(t, 5)
	client := f.open()
	mutex := redsync.New(client).NewMutex("lock", redsync.WithTries(2), redsync.WithRetryDelay(time.Millisecond))
	f.must(mutex.Lock())
	for _, i := range []int{0, 2, 3} {
		f.must(f.Masters[i].Kill())
	}
	extend, valid, unlock := f.refusal(mutex.Extend()), f.refusal(mutex.Valid()), f.refusal(mutex.Unlock()) // in this order
	for what, err := range map[string]error{
		"Extend": extend, "Valid": valid, "Unlock": unlock, "Lock": redsync.New(client).NewMutex("other", redsync.WithTries(2)).Lock(),
		"Valid of a value": f.refusal(redsync.New(client).NewMutex("lock", redsync.WithValue("x")).Valid()),
	} {
		node, ok := errors.AsType[*redsync.RedisError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%s: %v, want a *RedisError and redlock.ErrNoQuorum", what, err)
		} else if node.Node != 0 {
			t.Errorf("%s: the first error is of master %d, want 0: %v", what, node.Node, err)
		}
	}
}

func TestAnExpiryAboveTheClientsMaxTTLIsRefused(t *testing.T) {
	f := startFleet(t, 3)
	err := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(2*time.Minute)).Lock()
	if err == nil || !strings.Contains(err.Error(), "WithMaxTTL") {
		t.Errorf("got %v, want an error that names WithMaxTTL", err)
	}
	f.wantIs(redsync.New(f.open()).NewMutex("lock", redsync.WithTries(0)).Lock(), redsync.ErrFailed)
}

// redsync would count these masters, and grant the lock twice.
func TestALockIsNotGrantedTwiceByMastersThatRestartedEmpty(t *testing.T) {
	f := startFleet(t, 5)
	holder := redsync.New(f.open()).NewMutex("lock", redsync.WithExpiry(50*time.Second))
	f.must(holder.Lock())
	for _, s := range f.Masters[:3] {
		f.must(s.Restart(t.Context(), false))
	}
	second := f.upstream().NewMutex("lock", upstream.WithTries(1))
	if err := second.Lock(); err != nil {
		t.Fatalf("redsync counts the empty masters, so it gets the lock; but: %v", err)
	}
	f.wantOK(second.Unlock())

	err := redsync.New(f.open()).NewMutex("lock", redsync.WithTries(3)).Lock()
	if _, abstains := errors.AsType[*redlock.AbstainError](err); !abstains {
		t.Errorf("got %v, want an error that says which masters abstain", err)
	}

	// While the other two answer, an attempt may be decided by one that has the key: it is taken.
	for _, s := range f.Masters[3:] {
		f.must(s.Freeze())
	}
	err = redsync.New(f.open()).NewMutex("lock", redsync.WithTries(1)).Lock()
	if _, ok := errors.AsType[*redsync.RedisError](err); !ok {
		t.Errorf("got %v, want a *redsync.RedisError for a master that abstains", err)
	}
}
