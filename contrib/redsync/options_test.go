package redsync_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
)

func TestSetNXOnExtendIsRefused(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(redsync.PoolOf(f.open()))
	mutex := rs.NewMutex("lock", redsync.WithSetNXOnExtend())
	for _, lock := range []func() error{mutex.Lock, mutex.TryLock} {
		if err := lock(); !errors.Is(err, redsync.ErrUnsafeOption) || !strings.Contains(err.Error(), "another may have held it") {
			t.Errorf("got %v, want ErrUnsafeOption and why", err)
		}
	}
	f.wantFree("lock")
	f.wantIs(f.refusal(rs.NewMutex("lock", redsync.WithValue("x"), redsync.WithSetNXOnExtend()).Extend()), redsync.ErrUnsafeOption)
}

// Two holders have different values although the function repeats one: the token is the client's.
func TestRepeatedGenValueDoesNotLetTwoHold(t *testing.T) {
	f := startFleet(t, 3)
	same := redsync.WithGenValueFunc(func() (string, error) { return "the-same", nil })
	rs := redsync.New(redsync.PoolOf(f.open()))
	first, second := rs.NewMutex("lock", same, redsync.WithExpiry(200*time.Millisecond)), rs.NewMutex("lock", same)
	f.must(first.Lock())
	f.must(second.Lock()) // after the expiry of the first
	if first.Value() == second.Value() {
		t.Errorf("both have the value %q", first.Value())
	}
	_ = f.refusal(first.Unlock())
	f.wantOK(second.Valid())
	f.wantOK(second.Unlock())
}

func TestAGeneratedValueIsTheOwnersName(t *testing.T) {
	f := startFleet(t, 3)
	n := 0
	rs := redsync.New(redsync.PoolOf(f.open()))
	mutex := rs.NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) {
		n++
		return "host-a/" + strconv.Itoa(n), nil
	}))
	f.must(mutex.Lock())
	// A quorum has answered. The others may not have it yet.
	if value, kept := mutex.Value(), f.values("lock"); !strings.HasPrefix(value, "host-a/1:") || !slices.Contains(kept, value) {
		t.Errorf("value %q, in Redis %q, want both to begin with host-a/1:", value, kept)
	}

	broken := errors.New("no entropy")
	failing := rs.NewMutex("lock", redsync.WithGenValueFunc(func() (string, error) { return "", broken }))
	f.wantIs(failing.Lock(), broken)
}

// A value that cannot be part of the token causes one warning that names the mutex. Value
// returns the value in Redis.
func TestUnusableGenValueWarnsOnce(t *testing.T) {
	f := startFleet(t, 3)
	client := f.open()
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	rs := redsync.New(redsync.PoolOf(client))
	for range 2 {
		mutex := rs.NewMutex("unfit", redsync.WithGenValueFunc(func() (string, error) { return `{"host":"a"}`, nil }))
		f.must(mutex.Lock())
		if value, kept := mutex.Value(), f.values("unfit"); !slices.Contains(kept, value) || strings.Contains(value, "{") {
			t.Errorf("value %q, in Redis %q", value, kept)
		}
		f.wantOK(mutex.Unlock())
	}
	if text := log.String(); strings.Count(text, "WithGenValueFunc") != 1 || !strings.Contains(text, "level=WARN") || !strings.Contains(text, "mutex=unfit") {
		t.Errorf("the log is %q", text)
	}
}

// An error names the options of redsync, and says how to get a longer expiry.
func TestAnErrorNamesTheOptionThatTheUserWrote(t *testing.T) {
	f := startFleet(t, 1)
	rs := redsync.New(redsync.PoolOf(f.open()))
	adopting := rs.NewMutex("lock", redsync.WithExpiry(2*time.Minute), redsync.WithValue("x"))
	for _, test := range []struct {
		err  error
		want []string
	}{
		{rs.NewMutex("lock", redsync.WithExpiry(2*time.Minute)).Lock(), []string{"WithExpiry: 2m0s", "WithMaxTTL", "goredis.Open", "PoolOf"}},
		{f.refusal(adopting.Extend()), []string{"WithExpiry: 2m0s", "goredis.Open"}},
		{rs.NewMutex("lock", redsync.WithExpiry(time.Millisecond)).Lock(), []string{"WithExpiry: 1ms"}},
		{rs.NewMutex("lock", redsync.WithRetryDelayFunc(nil)).Lock(), []string{"WithRetryDelayFunc"}},
	} {
		for _, part := range test.want {
			if test.err == nil || !strings.Contains(test.err.Error(), part) || strings.Contains(test.err.Error(), "WithLease") {
				t.Errorf("%v: want %q", test.err, part)
			}
		}
	}
}

func TestALockIsExtendedAndUnlockedByItsValueElsewhere(t *testing.T) {
	f := startFleet(t, 5)
	here := redsync.New(redsync.PoolOf(f.open())).NewMutex("lock")
	f.must(here.Lock())
	theirs := f.upstream().NewMutex("theirs")
	f.must(theirs.Lock())
	elsewhere := redsync.New(redsync.PoolOf(f.open()))
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

func TestWrongValueChangesNoKey(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(redsync.PoolOf(f.open()))
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
	rs := redsync.New(redsync.PoolOf(f.open()))
	careful := rs.NewMutex("careful", redsync.WithExpiry(10*time.Second), redsync.WithDriftFactor(0.5))
	f.must(careful.Lock())
	if left := time.Until(careful.Until()); left > 5*time.Second {
		t.Errorf("valid for %v, want half of 10 s at the most", left)
	}
	f.wantIs(rs.NewMutex("never", redsync.WithDriftFactor(1)).Lock(), redsync.ErrFailed) // no validity is left
	f.wantFree("never")
}
