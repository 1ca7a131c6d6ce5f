package waitqueue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// fakeVoters begin to vote as a quorum when begin is called.
type fakeVoters struct {
	mu     sync.Mutex // guards begins and began
	begins chan struct{}
	began  time.Time
	wanted int
}

func (v *fakeVoters) Begins(since time.Time) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.began.Before(since) {
		begun := make(chan struct{})
		close(begun)
		return begun
	}
	return v.begins
}

func (v *fakeVoters) AddWaiting(n int) { v.wanted += n }

func (v *fakeVoters) begin() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.begins)
	v.begins, v.began = make(chan struct{}), time.Now()
}

// inOutage runs a test with a room whose masters are no quorum, at the start of an outage.
func inOutage(t *testing.T, test func(t *testing.T, r *Room, v *fakeVoters, o *outage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v, f := &fakeVoters{begins: make(chan struct{})}, &fake{}
		masters := []fakeMaster{{f, 0}, {f, 1}}
		r := newRoom(Config{
			Voters: v, Need: 1, Closing: t.Context(), OutageWait: 3 * time.Second, Pilots: quorum.NewChooser(masters, func(int) bool { return true }),
		})
		o := &outage{}
		if r.note(o, noQuorum()) {
			t.Fatal("the outage is over with the first attempt")
		}
		test(t, r, v, o)
	})
}

func noQuorum() *quorum.Failure { return &quorum.Failure{Kind: quorum.NoQuorum, Total: 2, Need: 1} }

// between pauses as a call that polls does, and returns for how long.
func (r *Room) between(t *testing.T, o *outage, want *Options, delay time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	sleep := func(d time.Duration, ready <-chan struct{}) error { return r.pause(t.Context(), d, ready) }
	if err := r.pauseBetween(o, want, delay, nil, sleep); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// A pause ends when a quorum begins to vote, but never right after an attempt: otherwise all calls
// would try at the same moment, and again with each connection that comes and goes.
func TestAPauseInAnOutageEndsWhenAQuorumBegins(t *testing.T) {
	for name, test := range map[string]struct {
		after        time.Duration
		backoff      func(int) time.Duration
		least, below time.Duration
	}{
		"at once":             {1, nil, 50 * time.Millisecond, 100 * time.Millisecond}, // once the pause has begun
		"in the middle":       {300 * time.Millisecond, nil, 300 * time.Millisecond, 350 * time.Millisecond},
		"after it":            {1500 * time.Millisecond, nil, time.Second, time.Second + 1},
		"the caller says how": {300 * time.Millisecond, func(int) time.Duration { return time.Second }, time.Second, time.Second + 1},
	} {
		t.Run(name, func(t *testing.T) {
			inOutage(t, func(t *testing.T, r *Room, v *fakeVoters, o *outage) {
				begun := time.AfterFunc(test.after, v.begin)
				defer begun.Stop()
				if d := r.between(t, o, &Options{Backoff: test.backoff}, time.Second); d < test.least || d >= test.below {
					t.Errorf("paused for %v, want %v to %v", d, test.least, test.below)
				}
				if v.wanted != 0 {
					t.Errorf("masters are dialled for %d calls after the pause", v.wanted)
				}
			})
		})
	}
}

// A quorum that began to vote during an attempt ends the pause after it. A quorum that already
// votes ends no pause: it may refuse the lock.
func TestOnlyTheBeginningOfAQuorumEndsAPause(t *testing.T) {
	inOutage(t, func(t *testing.T, r *Room, v *fakeVoters, o *outage) {
		time.AfterFunc(10*time.Millisecond, v.begin)
		r.between(t, o, &Options{}, time.Second)
		v.begin() // while the attempt is under way
		r.note(o, noQuorum())
		if d := r.between(t, o, &Options{}, time.Second); d >= 100*time.Millisecond {
			t.Errorf("paused for %v after a quorum had begun", d)
		}
		r.note(o, noQuorum())
		if d := r.between(t, o, &Options{}, time.Second); d != time.Second {
			t.Errorf("paused for %v while nothing has changed, want 1s", d)
		}
	})
}

func TestAQuorumThatBeganDuringTheFirstAttemptEndsThePauseBehindIt(t *testing.T) {
	inOutage(t, func(t *testing.T, r *Room, v *fakeVoters, o *outage) {
		*o = outage{}
		v.begin()
		time.Sleep(300 * time.Millisecond)
		failed := noQuorum()
		failed.Elapsed = 500 * time.Millisecond
		r.note(o, failed)
		if d := r.between(t, o, &Options{}, time.Second); d >= 100*time.Millisecond {
			t.Errorf("paused for %v after a quorum had begun", d)
		}
	})
}

// While a call pauses, masters are dialled sooner.
func TestMastersAreDialledSoonerDuringAPauseInAnOutage(t *testing.T) {
	inOutage(t, func(t *testing.T, r *Room, v *fakeVoters, o *outage) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sleep := func(time.Duration, <-chan struct{}) error {
			if v.wanted != 1 {
				t.Errorf("%d calls want the masters, want 1", v.wanted)
			}
			cancel()
			return ctx.Err()
		}
		if err := r.pauseBetween(o, &Options{}, time.Second, nil, sleep); !errors.Is(err, context.Canceled) || v.wanted != 0 {
			t.Errorf("%v, and %d calls want the masters", err, v.wanted)
		}
		*o = outage{} // the lock is taken: the call does not wait for masters
		began := v.wanted
		sleep = func(time.Duration, <-chan struct{}) error { began += v.wanted; return nil }
		if err := r.pauseBetween(o, &Options{}, time.Second, nil, sleep); err != nil || began != 0 {
			t.Errorf("%v, and %d calls want the masters", err, began)
		}
	})
}

// When the time of an outage is over, the call fails. It makes one more attempt if a quorum votes
// now, or began to vote since the last attempt.
func TestACallIsNotRefusedForAnOutageThatHasEnded(t *testing.T) {
	for name, test := range map[string]struct {
		limit time.Duration
		votes bool
		began bool
		more  bool
	}{
		"there is no quorum":             {3 * time.Second, false, false, false},
		"a quorum votes":                 {3 * time.Second, true, false, true},
		"one voted since, and does not":  {3 * time.Second, false, true, true},
		"a quorum votes, without a wait": {0, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			inOutage(t, func(t *testing.T, r *Room, v *fakeVoters, o *outage) {
				r.cfg.OutageWait = test.limit
				r.between(t, o, &Options{}, time.Second)
				time.Sleep(2 * time.Second)
				if test.votes {
					r.cfg.Need = 0
				}
				if test.began {
					v.begin()
				}
				if over := r.note(o, noQuorum()); over == test.more {
					t.Fatalf("it is over: %v, want %v", over, !test.more)
				}
				if !test.more {
					return
				}
				if d := r.between(t, o, &Options{}, time.Second); d < 50*time.Millisecond || d >= 100*time.Millisecond {
					t.Errorf("the last attempt comes after %v", d)
				}
				v.begin()
				if !r.note(o, noQuorum()) {
					t.Error("it is not over with the last attempt")
				}
			})
		})
	}
}
