package redsync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	upstream "github.com/go-redsync/redsync/v4"
	redigolib "github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
)

// shape describes an error by what a program can test with redsync: by ==, by its type, or,
// if several errors are joined, by those of the parts.
func shape(err error) string {
	if s := bare(err); s != "" {
		return s
	}
	parts := leaves(err)
	slices.Sort(parts)
	return "joined: " + strings.Join(slices.Compact(parts), ", ")
}

// bare is the shape of an error of redsync that is not joined; "" for any other.
func bare(err error) string {
	for name, sentinel := range map[string]error{
		"nil": nil, "ErrFailed": upstream.ErrFailed, "ErrExtendFailed": upstream.ErrExtendFailed,
		"ErrLockAlreadyExpired": upstream.ErrLockAlreadyExpired,
	} {
		if err == sentinel { //nolint:errorlint // users do so
			return name
		}
	}
	switch err := err.(type) { //nolint:errorlint // users do so
	case *upstream.ErrTaken:
		return "*ErrTaken"
	case *upstream.ErrNodeTaken:
		return fmt.Sprintf("*ErrNodeTaken %d", err.Node)
	case *upstream.RedisError:
		return fmt.Sprintf("*RedisError %d", err.Node)
	}
	return ""
}

// leaves are the shapes of the joined errors, at any depth, without errors unknown to redsync.
func leaves(err error) (parts []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if s := bare(err); s != "" {
			parts = append(parts, s)
		}
		return parts
	}
	for _, part := range joined.Unwrap() {
		parts = append(parts, leaves(part)...)
	}
	return parts
}

// A locker is a mutex of either package.
type locker interface {
	Lock() error
	LockContext(ctx context.Context) error
	Unlock() (bool, error)
	Extend() (bool, error)
	Valid() (bool, error)
}

// A mutex of redsync and one of this package, each on its own masters, return the same errors
// in the same situation.
func TestErrorsAreThoseOfRedsync(t *testing.T) {
	const short, long = 200 * time.Millisecond, 10 * time.Second
	refused := func(_ bool, err error) error { return err }
	for name, test := range map[string]struct {
		want   string
		expiry time.Duration
		tries  int
		do     func(f *fleet, m locker) error
	}{
		"Lock of what another has": {"*ErrTaken", long, 2, func(f *fleet, m locker) error {
			f.set(0, 1, 2, 3, 4)
			return m.Lock()
		}},
		"Lock with a context that ends": {"ErrFailed", long, 1000, func(f *fleet, m locker) error {
			f.set(0, 1, 2, 3, 4)
			ctx, cancel := context.WithTimeout(f.t.Context(), short)
			defer cancel()
			return m.LockContext(ctx)
		}},
		"Lock without a try": {"ErrFailed", long, 0, func(_ *fleet, m locker) error { return m.Lock() }},
		"Lock while masters are down": {"joined: *RedisError 0, *RedisError 2, *RedisError 3", long, 1, func(f *fleet, m locker) error {
			f.kill(0, 2, 3)
			return m.Lock()
		}},
		"Extend of what was never locked": {"*ErrTaken", long, 1, func(_ *fleet, m locker) error { return refused(m.Extend()) }},
		"Extend of what another has": {"*ErrTaken", long, 1, func(f *fleet, m locker) error {
			f.must(m.Lock())
			f.set(0, 1, 2, 3, 4)
			return refused(m.Extend())
		}},
		"Valid of what was never locked": {"*ErrTaken", long, 1, func(_ *fleet, m locker) error { return refused(m.Valid()) }},
		"Unlock of what another has": {"*ErrTaken", long, 1, func(f *fleet, m locker) error {
			f.must(m.Lock())
			f.set(0, 1, 2, 3, 4)
			return refused(m.Unlock())
		}},
		"Unlock of what has expired": {"joined: ErrLockAlreadyExpired", short, 1, func(f *fleet, m locker) error {
			f.must(m.Lock())
			f.wantFree("lock")
			return refused(m.Unlock())
		}},
		"Unlock while masters are down": {"joined: *RedisError 0, *RedisError 2, *RedisError 3", long, 1, func(f *fleet, m locker) error {
			f.must(m.Lock())
			f.kill(0, 2, 3)
			return refused(m.Unlock())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := startFleet(t, 5), startFleet(t, 5)
			was := shape(test.do(theirs, theirs.upstream().NewMutex("lock", upstream.WithExpiry(test.expiry),
				upstream.WithTries(test.tries), upstream.WithTimeoutFactor(0.9)))) // the machine may be busy
			client := ours.ready()
			is := shape(test.do(ours, redsync.New(redsync.PoolOf(client)).NewMutex("lock", redsync.WithExpiry(test.expiry), redsync.WithTries(test.tries))))
			if was != test.want || is != test.want {
				t.Errorf("redsync: %s; here: %s; want %s", was, is, test.want)
			}
		})
	}
}

// set gives the lock to another owner on these masters.
func (f *fleet) set(masters ...int) {
	f.t.Helper()
	for _, i := range masters {
		_, err := f.Masters[i].Do("SET", "lock", "somebody else's")
		f.must(err)
	}
}

func (f *fleet) kill(masters ...int) {
	f.t.Helper()
	for _, i := range masters {
		f.must(f.Masters[i].Kill())
	}
}

// redsync also cuts the expiry to whole milliseconds.
func TestAnExpiryIsCutToWholeMilliseconds(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(redsync.PoolOf(f.open()))
	mutex := rs.NewMutex("lock", redsync.WithExpiry(10*time.Second/3))
	f.must(mutex.Lock())
	f.wantOK(mutex.Extend())
	f.wantOK(rs.NewMutex("lock", redsync.WithValue(mutex.Value()), redsync.WithExpiry(10*time.Second/7)).Unlock())
	f.wantFree("lock")
}

// After a lock was handed on by its value, nothing that the first mutex or its client does
// ends it, except Unlock.
func TestAdoptedLockSurvivesItsFirstMutex(t *testing.T) {
	for name, test := range map[string]struct {
		expiry time.Duration // of the first mutex
		end    func(f *fleet, first *redsync.Mutex)
	}{
		"the first mutex has ended": {300 * time.Millisecond, func(f *fleet, first *redsync.Mutex) {
			testutil.Eventually(f.t, "the first mutex has ended", func() bool { return time.Since(first.Until()) > 500*time.Millisecond })
		}},
		"the first mutex finds it lost": {time.Minute, func(f *fleet, first *redsync.Mutex) {
			for _, s := range f.Masters[:3] {
				_, err := s.Do("DEL", "lock")
				f.must(err)
			}
			_ = wantTaken(f.t, f.refusal(first.Valid()))
		}},
		"the first client is closed": {time.Minute, func(*fleet, *redsync.Mutex) {}},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFleet(t, 5)
			client := f.open()
			first := redsync.New(redsync.PoolOf(client)).NewMutex("lock", redsync.WithExpiry(test.expiry))
			f.must(first.Lock())
			f.wantOK(first.Extend())
			second := f.upstream().NewMutex("lock", upstream.WithValue(first.Value()), upstream.WithExpiry(50*time.Second))
			f.wantOK(second.Extend())
			test.end(f, first)
			f.must(client.Close())
			testutil.Eventually(t, "the masters have read all that the client has sent", func() bool {
				return !slices.ContainsFunc(f.Masters, func(s *redistest.Server) bool {
					list, err := redigolib.String(s.Do("CLIENT", "LIST"))
					f.must(err)
					return strings.Contains(list, "name=redquorum")
				})
			})
			for i, value := range f.values("lock")[3:] { // no case has emptied these
				if value != second.Value() {
					t.Errorf("master %d has %q, want the value that was handed on", 3+i, value)
				}
			}
		})
	}
}
