package redsync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
)

// wantTaken wants the error unwrapped, as redsync returns it.
func wantTaken(t *testing.T, err error) *redsync.ErrTaken {
	t.Helper()
	taken, ok := err.(*redsync.ErrTaken) //nolint:errorlint // users do so
	if !ok {
		t.Fatalf("got %T, %v, want a *redsync.ErrTaken", err, err)
	}
	return taken
}

func TestAMutexIsNotRenewedAndEndsAfterItsExpiry(t *testing.T) {
	f := startFleet(t, 5)
	mutex := redsync.New(redsync.PoolOf(f.open())).NewMutex("lock", redsync.WithExpiry(200*time.Millisecond))
	began := time.Now()
	f.must(mutex.Lock())
	if until := mutex.Until(); until.Before(began) || until.After(time.Now().Add(200*time.Millisecond)) {
		t.Errorf("valid until %v, locked at %v for 200 ms", until, began)
	}
	f.wantFree("lock")
	if time.Now().Before(mutex.Until()) {
		t.Error("it is valid for longer than its keys live")
	}
	_ = wantTaken(t, f.refusal(mutex.Valid()))
	f.wantIs(f.refusal(mutex.Unlock()), redsync.ErrLockAlreadyExpired, redlock.ErrLost)
	f.must(mutex.Lock()) // again
}

func TestMastersThatAreDownAreRedisErrors(t *testing.T) {
	f := startFleet(t, 5)
	client := f.open()
	mutex := redsync.New(redsync.PoolOf(client)).NewMutex("lock", redsync.WithTries(2), redsync.WithRetryDelay(time.Millisecond))
	f.must(mutex.Lock())
	for _, i := range []int{0, 2, 3} {
		f.must(f.Masters[i].Kill())
	}
	extend, valid, unlock := f.refusal(mutex.Extend()), f.refusal(mutex.Valid()), f.refusal(mutex.Unlock()) // in this order
	for what, err := range map[string]error{
		"Extend": extend, "Valid": valid, "Unlock": unlock, "Lock": redsync.New(redsync.PoolOf(client)).NewMutex("other", redsync.WithTries(2)).Lock(),
		"Valid of a value": f.refusal(redsync.New(redsync.PoolOf(client)).NewMutex("lock", redsync.WithValue("x")).Valid()),
	} {
		node, ok := errors.AsType[*redsync.RedisError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%s: %v, want a *RedisError and redlock.ErrNoQuorum", what, err)
		} else if node.Node != 0 {
			t.Errorf("%s: the first error is of master %d, want 0: %v", what, node.Node, err)
		}
	}
}
