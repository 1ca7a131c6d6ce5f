package redsync_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
)

func TestUnsafeOptionsAreRefused(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	same := func() (string, error) { return "the same", nil }
	for name, c := range map[string]struct {
		option redsync.Option
		reason string
	}{
		"SetNX on extend": {redsync.WithSetNXOnExtend(), "another may have held it"},
		"one value":       {redsync.WithGenValueFunc(same), "releases the other's lock"},
	} {
		t.Run(name, func(t *testing.T) {
			mutex := rs.NewMutex("lock", c.option)
			for _, lock := range []func() error{mutex.Lock, mutex.TryLock} {
				if err := lock(); !errors.Is(err, redsync.ErrUnsafeOption) || !strings.Contains(err.Error(), c.reason) {
					t.Errorf("got %v, want ErrUnsafeOption and why", err)
				}
			}
			f.wantFree("lock")
		})
	}
	if ok, err := rs.NewMutex("lock", redsync.WithValue("x"), redsync.WithSetNXOnExtend()).Extend(); ok || !errors.Is(err, redsync.ErrUnsafeOption) {
		t.Errorf("Extend: %v, %v", ok, err)
	}
}

func TestAValueThatIsRepeatedLaterIsRefused(t *testing.T) {
	f := startFleet(t, 3)
	calls := 0
	mutex := redsync.New(f.open()).NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) {
		calls++
		return strconv.Itoa(min(calls, 2)), nil // 1, 2, 2, …
	}))
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	if ok, err := mutex.Unlock(); !ok || err != nil {
		t.Fatalf("Unlock: %v, %v", ok, err)
	}
	if err := mutex.Lock(); !errors.Is(err, redsync.ErrUnsafeOption) {
		t.Errorf("got %v, want ErrUnsafeOption", err)
	}
}

func TestAGeneratedValueIsTheOwnersName(t *testing.T) {
	f := startFleet(t, 3)
	n := 0
	rs := redsync.New(f.open())
	mutex := rs.NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) {
		n++
		return "host-a/" + strconv.Itoa(n), nil
	}))
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	if value := mutex.Value(); !strings.HasPrefix(value, "host-a/2:") || f.values("lock")[0] != value {
		t.Errorf("value %q, in Redis %q, want both to begin with host-a/2:", value, f.values("lock")[0])
	}

	unfit := rs.NewMutex("unfit", redsync.WithGenValueFunc(func() (string, error) {
		n++
		return "with a space " + strconv.Itoa(n), nil
	}))
	if err := unfit.Lock(); err != nil {
		t.Errorf("a value that is no owner's name: %v", err)
	}

	broken := errors.New("no entropy")
	failing := rs.NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) { return "", broken }))
	if err := failing.Lock(); !errors.Is(err, broken) {
		t.Errorf("got %v, want the function's error", err)
	}
}

func TestALockIsExtendedAndUnlockedByItsValueElsewhere(t *testing.T) {
	f := startFleet(t, 5)
	here := redsync.New(f.open()).NewMutex("lock")
	if err := here.Lock(); err != nil {
		t.Fatal(err)
	}
	theirs := f.upstream().NewMutex("theirs")
	if err := theirs.Lock(); err != nil {
		t.Fatal(err)
	}
	elsewhere := redsync.New(f.open())
	for key, value := range map[string]string{"lock": here.Value(), "theirs": theirs.Value()} {
		mutex := elsewhere.NewMutex(key, redsync.WithValue(value), redsync.WithExpiry(30*time.Second))
		if mutex.Value() != value {
			t.Errorf("value %q, want %q", mutex.Value(), value)
		}
		if ok, err := mutex.Valid(); !ok || err != nil {
			t.Errorf("Valid of %s: %v, %v", key, ok, err)
		}
		if ok, err := mutex.Extend(); !ok || err != nil || time.Until(mutex.Until()) < 20*time.Second {
			t.Errorf("Extend of %s: %v, %v, until %v", key, ok, err, mutex.Until())
		}
		if ok, err := mutex.Unlock(); !ok || err != nil {
			t.Errorf("Unlock of %s: %v, %v", key, ok, err)
		}
		f.wantFree(key)
	}
}

func TestAWrongValueTouchesNothing(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	holder := rs.NewMutex("lock")
	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	other := rs.NewMutex("lock", redsync.WithValue("not its value"))
	if ok, err := other.Valid(); ok || !errors.Is(err, redlock.ErrNotHeld) {
		t.Errorf("Valid: %v, %v", ok, err)
	}
	if ok, err := other.Extend(); ok || !errors.Is(err, redsync.ErrExtendFailed) {
		t.Errorf("Extend: %v, %v", ok, err)
	}
	if ok, err := other.Unlock(); ok || !errors.Is(err, redlock.ErrNotHeld) {
		t.Errorf("Unlock: %v, %v", ok, err)
	}
	for i, value := range f.values("lock") {
		if value != holder.Value() {
			t.Errorf("master %d has %q, want the holder's value", i, value)
		}
	}
	if ok, err := holder.Unlock(); !ok || err != nil {
		t.Errorf("the holder's Unlock: %v, %v", ok, err)
	}
}

func TestADriftFactorShortensTheValidity(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	careful := rs.NewMutex("careful", redsync.WithExpiry(10*time.Second), redsync.WithDriftFactor(0.5))
	if err := careful.Lock(); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(careful.Until()); left > 5*time.Second {
		t.Errorf("valid for %v, want half of 10 s at the most", left)
	}
	if err := rs.NewMutex("never", redsync.WithDriftFactor(1)).Lock(); !errors.Is(err, redsync.ErrFailed) {
		t.Errorf("with no validity left: %v, want ErrFailed", err)
	}
	f.wantFree("never")
}

// What has no meaning here is taken, and changes nothing.
func TestOptionsWithoutAMeaningAreAccepted(t *testing.T) {
	f := startFleet(t, 3)
	mutex := redsync.New(f.open()).NewMutex("lock",
		redsync.WithFailFast(true), redsync.WithShufflePools(true), redsync.WithTimeoutFactor(0.5))
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	if ok, err := mutex.Unlock(); !ok || err != nil {
		t.Errorf("Unlock: %v, %v", ok, err)
	}
}
