package waitqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A release wakes a waiter of this process only if no other client was called. A pilot's call
// for which nobody waits here goes on to the next client in the queue.
func TestReleaseWakesOnlyTheClientThatItWasHandedTo(t *testing.T) {
	for name, test := range map[string]struct {
		to     wire.Successor
		waits  bool // somebody here
		woken  bool // by the release
		called bool // by the pilot
		leaves bool // the next one in the queue is told
	}{
		"another client was told":                {wire.AnotherClient, true, false, false, false},
		"this client was told":                   {wire.ThisClient, true, false, true, false},
		"this client was told, and nobody waits": {wire.ThisClient, false, false, false, true},
		"nobody was told":                        {wire.Nobody, true, true, false, false},
		"nobody was told, and nobody waits":      {wire.Nobody, false, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			r := newRoom(Config{Queues: f, Masters: make([]Master, 1)})
			var first *ticket
			if test.waits {
				first = r.localQueues.join("key")
			}
			reader := r.localQueues.join(ReadersPrefix + "key")
			defer reader.leave()
			r.Released(0, "key", test.to)
			// Readers that queue at no pilot are woken if no other waiter is woken.
			if woken := len(reader.signal) == 1; woken != (test.to == wire.Nobody && !test.woken) {
				t.Errorf("the reader is woken: %v", woken)
			}
			if r.recent.has("key") != (test.to == wire.AnotherClient) {
				t.Error("a client that was told comes before whoever comes here next, and only such a one")
			}
			if woken := first != nil && len(first.signal) == 1; woken != test.woken {
				t.Errorf("the first in the local queue is woken: %v, want %v", woken, test.woken)
			}
			if called := first != nil && len(first.calls) == 1; called != test.called {
				t.Errorf("the first in the local queue is called: %v, want %v", called, test.called)
			}
			if left := slices.Equal(f.did, []string{"leave 0 key"}); left != test.leaves || !left && len(f.did) > 0 {
				t.Errorf("it did %q", f.did)
			}
		})
	}
}

func TestAKeyThatWasWaitedForIsRememberedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recent{since: time.Now()}
		set := &Options{Keys: []string{"a", "b"}, Kind: wire.Set}
		if key, lately := r.among(set); lately || key != "a" {
			t.Errorf("before: %q, %v", key, lately)
		}
		r.note("b", true)
		time.Sleep(recentFor - 1)
		if key, lately := r.among(set); !lately || key != "b" {
			t.Errorf("within a second: %q, %v", key, lately)
		}
		time.Sleep(1 * time.Nanosecond)
		if r.has("b") {
			t.Error("remembered for longer than a second")
		}
		r.note("b", true)
		r.note("b", false)
		if r.has("b") {
			t.Error("remembered although it was free since")
		}
	})
}

// A set waits for the key that is held on most masters.
func TestSetWaitsForTheKeyThatIsHeldOnMostMasters(t *testing.T) {
	for want, parts := range map[string]string{"p:a": "", "p:b": "b", "p:c": "bcc", "p:d": "d-d"} {
		synctest.Test(t, func(t *testing.T) {
			f := begun(t, Options{Keys: []string{"p:a", "p:b", "p:c", "p:d"}, Kind: wire.Set})
			defer f.cancel()
			failed := taken()
			for i, key := range strings.Split(parts, "") {
				failed.Parts = append(failed.Parts, quorum.Part{Master: i, Held: &quorum.Held{Key: strings.Trim(key, "-")}})
			}
			moved := f.w.follow(failed)
			if f.w.key != want {
				t.Errorf("%q are in the way, and it waits for %q: want %q", parts, f.w.key, want)
			}
			if moved != (want != "p:a") {
				t.Errorf("%q are in the way, and its place is another: %v", parts, moved)
			}
			if !f.w.room.localQueues.call(WakeUp{Key: want}) {
				t.Errorf("calls for %q are not heard", want)
			}
		})
	}
}

// If a waiter was called and leaves without acting on the call, the next client is called.
func TestCallsThatWereNotActedOnArePassedOn(t *testing.T) {
	for name, want := range map[string]Options{"one key": oneWanted, "a reader": readWanted} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begun(t, want)
				defer f.cancel()
				did := fmt.Sprint("leave ", f.pilot(), " p:a")
				if f.call(); want.Kind == wire.Reader {
					f.callReaders()
					did = fmt.Sprint("leave readers ", f.pilot(), " p:a")
				}
				f.did = nil
				f.w.end()
				f.w.ticket.leave()
				if !slices.Equal(f.did, []string{did}) {
					t.Errorf("it did %q, want %q", f.did, did)
				}
				if f.w.room.Waiting() != 0 {
					t.Error("it waits still")
				}
			})
		})
	}
}

// If a set waits behind a call for one of its keys, an outage of that call is reported for the set.
func TestAFailureThatIsSharedNamesWhatTheCallWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begun(t, setWanted)
		defer f.cancel()
		f.wants = quorum.Failure{Key: "a", Others: 1}
		f.w.ticket.err = &quorum.Failure{Key: "b", Kind: quorum.NoQuorum, OK: 1}
		f.w.state = inLocalQueue
		if e := f.w.act(f.ctx); e != inVain || f.w.last.Key != "a" || f.w.last.Others != 1 || f.w.last.OK != 1 || f.w.last.Kind != quorum.NoQuorum {
			t.Errorf("event %d, %+v", e, f.w.last)
		}
		if f.w.ticket.err.Key != "b" {
			t.Error("the failure of the other call has changed")
		}
	})
}

// If a call's first attempt is cut off, its failure depends on why it had made none before.
func TestCallBehindOthersFailsBecauseTheLockIsTaken(t *testing.T) {
	for name, test := range map[string]struct {
		behind, votes bool
		failures      int // of the call before
		want          quorum.Kind
	}{
		"it was behind":                             {true, true, 0, quorum.Taken},
		"it was not":                                {false, true, 0, quorum.NoQuorum},
		"it was, and no quorum votes":               {true, false, 0, quorum.NoQuorum},
		"it was, and the call before had no quorum": {true, true, 1, quorum.NoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begun(t, oneWanted)
				defer f.cancel()
				f.w.behind, f.connected = test.behind, test.votes
				f.w.ticket.outage().failures = test.failures
				f.w.begin()
				f.all, f.w.state = &quorum.Failure{Cause: context.Canceled}, rechecking
				if e := f.w.act(f.ctx); e != interrupted || f.w.last.Kind != test.want {
					t.Errorf("event %d, %+v, want kind %d", e, f.w.last, test.want)
				}
			})
		})
	}
}

func TestAPauseEndsWhenEnoughKeysExpire(t *testing.T) {
	part := func(ttl time.Duration) quorum.Part {
		return quorum.Part{Held: &quorum.Held{Type: "string", TTL: ttl}}
	}
	none := quorum.Part{Held: &quorum.Held{Type: "none"}}
	for name, test := range map[string]struct {
		ok    int
		parts []quorum.Part
		free  time.Duration
		known bool
	}{
		"all are free by now":        {1, []quorum.Part{none, none}, 0, true},
		"two have to expire":         {1, []quorum.Part{part(3), part(1), part(2)}, 2, true},
		"one of them never does":     {1, []quorum.Part{part(-1), part(2)}, 0, false},
		"of one nothing is known":    {1, []quorum.Part{{}, part(2)}, 0, false},
		"one is free, one to expire": {1, []quorum.Part{none, part(2), part(1)}, 1, true},
	} {
		free, known := freeAfter(&quorum.Failure{Need: 3, OK: test.ok, Parts: test.parts})
		if free != test.free || known != test.known {
			t.Errorf("%s: free after %v, known %v: want %v, %v", name, free, known, test.free, test.known)
		}
	}
}

// free is an Attempter for locks that nobody holds.
type free struct{ Attempter }

func (free) All(context.Context, bool) *quorum.Failure { return nil }
func (free) Attempted(int, *quorum.Failure)            {}

func TestALockThatNobodyWaitsForAllocatesNothing(t *testing.T) {
	r := newRoom(Config{Masters: make([]Master, 1)})
	caller := &free{}
	keys := []string{"p:a", "p:b"}
	long := strings.Repeat("k", 100)
	if n := testing.AllocsPerRun(100, func() { r.Released(0, long, wire.Nobody) }); n != 0 {
		t.Errorf("its release: %v allocations", n)
	}
	for name, want := range map[string]Options{
		"one key":  {Keys: keys[:1], Kind: wire.Plain},
		"several":  {Keys: keys, Kind: wire.Set},
		"once":     {Keys: keys[:1], Kind: wire.Plain, Tries: 1},
		"a reader": {Keys: keys[:1], Kind: wire.Reader},
	} {
		if n := testing.AllocsPerRun(100, func() {
			want := want
			if failed := r.Acquire(t.Context(), &want, caller); failed != nil {
				t.Error(failed)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
