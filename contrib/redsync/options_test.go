package redsync_test

import (
	"errors"
	"slices"
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
	f.wantIs(f.refusal(rs.NewMutex("lock", redsync.WithValue("x"), redsync.WithSetNXOnExtend()).Extend()), redsync.ErrUnsafeOption)
}

func TestAValueThatIsRepeatedLaterIsRefused(t *testing.T) {
	f := startFleet(t, 3)
	calls := 0
	mutex := redsync.New(f.open()).NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) {
		calls++
		return strconv.Itoa(min(calls, 2)), nil // 1, 2, 2, …
	}))
	f.must(mutex.Lock())
	f.wantOK(mutex.Unlock())
	f.wantIs(mutex.Lock(), redsync.ErrUnsafeOption)
}

func TestAGeneratedValueIsTheOwnersName(t *testing.T) {
	f := startFleet(t, 3)
	n := 0
	rs := redsync.New(f.open())
	mutex := rs.NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) {
		n++
		return "host-a/" + strconv.Itoa(n), nil
	}))
	f.must(mutex.Lock())
	// A quorum has answered. The others may not have it yet.
	if value, kept := mutex.Value(), f.values("lock"); !strings.HasPrefix(value, "host-a/2:") || !slices.Contains(kept, value) {
		t.Errorf("value %q, in Redis %q, want both to begin with host-a/2:", value, kept)
	}

	unfit := rs.NewMutex("unfit", redsync.WithGenValueFunc(func() (string, error) {
		n++
		return "with a space " + strconv.Itoa(n), nil
	}))
	f.must(unfit.Lock()) // though the value is no owner's name

	broken := errors.New("no entropy")
	failing := rs.NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) { return "", broken }))
	f.wantIs(failing.Lock(), broken)
}

func TestALockIsExtendedAndUnlockedByItsValueElsewhere(t *testing.T) {
	f := startFleet(t, 5)
	here := redsync.New(f.open()).NewMutex("lock")
	f.must(here.Lock())
	theirs := f.upstream().NewMutex("theirs")
	f.must(theirs.Lock())
	elsewhere := redsync.New(f.open())
	for key, value := range map[string]string{"lock": here.Value(), "theirs": theirs.Value()} {
		mutex := elsewhere.NewMutex(key, redsync.WithValue(value), redsync.WithExpiry(30*time.Second))
		if mutex.Value() != value {
			t.Errorf("value %q, want %q", mutex.Value(), value)
		}
		f.wantOK(mutex.Valid())
		if ok, err := mutex.Extend(); !ok || err != nil || time.Until(mutex.Until()) < 20*time.Second {
			t.Errorf("Extend of %s: %v, %v, until %v", key, ok, err, mutex.Until())
		}
		f.wantOK(mutex.Unlock())
		f.wantFree(key)
	}
}

func TestAWrongValueTouchesNothing(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	holder := rs.NewMutex("lock")
	f.must(holder.Lock())
	other := rs.NewMutex("lock", redsync.WithValue("not its value"))
	_ = wantTaken(t, f.refusal(other.Valid()))
	_ = wantTaken(t, f.refusal(other.Extend()))
	f.wantIs(f.refusal(other.Unlock()), redlock.ErrNotHeld)
	for i, value := range f.values("lock") {
		if value != holder.Value() {
			t.Errorf("master %d has %q, want the holder's value", i, value)
		}
	}
	f.wantOK(holder.Unlock())
}

func TestADriftFactorShortensTheValidity(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(f.open())
	careful := rs.NewMutex("careful", redsync.WithExpiry(10*time.Second), redsync.WithDriftFactor(0.5))
	f.must(careful.Lock())
	if left := time.Until(careful.Until()); left > 5*time.Second {
		t.Errorf("valid for %v, want half of 10 s at the most", left)
	}
	f.wantIs(rs.NewMutex("never", redsync.WithDriftFactor(1)).Lock(), redsync.ErrFailed) // no validity is left
	f.wantFree("never")
}

// What has no meaning here is taken, and changes nothing.
func TestOptionsWithoutAMeaningAreAccepted(t *testing.T) {
	f := startFleet(t, 3)
	mutex := redsync.New(f.open()).NewMutex("lock",
		redsync.WithFailFast(true), redsync.WithShufflePools(true), redsync.WithTimeoutFactor(0.5))
	f.must(mutex.Lock())
	f.wantOK(mutex.Unlock())
}
