package waitqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

func first(p *ticket) bool { return p.state().first }

func occupied(q *localQueues, want *Options) bool {
	_, is := q.occupied(want)
	return is
}

func TestLocalQueueIsFirstComeFirstServedAndGoneWhenEmpty(t *testing.T) {
	var q localQueues
	a, b, c := q.join("key"), q.join("key"), q.join("key")
	if !first(a) || first(b) || first(c) || !occupied(&q, plain("key")) || occupied(&q, plain("other")) {
		t.Error("the first to come is not the first")
	}
	b.leave() // gives up
	a.leave()
	if !first(c) || len(c.signal) != 1 {
		t.Error("the last one was not called")
	}
	if !q.call(WakeUp{Master: 1, Key: "key"}) || q.call(WakeUp{Key: "other"}) || !slices.Equal(c.unheard(), []WakeUp{{Master: 1, Key: "key"}}) {
		t.Error("a call is not heard by the first who waits for its key, or by one who waits for another")
	}
	c.leave()
	if len(q.byKey) != 0 || q.waiting.Load() != 0 || q.wakeFirst("key") {
		t.Error("something is left")
	}
}

func TestFailureReachesAllCallsOfALocalQueue(t *testing.T) {
	var q localQueues
	a, b, other := q.join("key"), q.join("key"), q.join("other")
	why := &quorum.Failure{}
	a.fail(why)
	if err := b.state().err; err != why || len(b.signal) != 1 {
		t.Errorf("the other one was told %v", err)
	}
	if err := other.state().err; err != nil || len(other.signal) != 0 {
		t.Errorf("one that waits for another key was told %v", err)
	}
}

func plain(key string) *Options { return &Options{Keys: []string{key}, Kind: wire.Plain} }

// A call for a key that other calls wait for waits behind them and asks no master, whatever kind
// of lock it wants.
func TestCallWaitsBehindEarlierCallsForItsKey(t *testing.T) {
	keys := func(k *wire.Kind, keys ...string) *Options { return &Options{Keys: keys, Kind: k} }
	for name, test := range map[string]struct {
		waiting []string // the local queues of the calls that wait
		want    *Options
		behind  string // the key for which it waits behind others; "": it does not
	}{
		"a key":                             {[]string{"a"}, plain("a"), "a"},
		"another key":                       {[]string{"a"}, plain("b"), ""},
		"a key that others want to read":    {[]string{ReadersPrefix + "a"}, plain("a"), ""},
		"a set":                             {[]string{"b"}, keys(wire.Set, "a", "b", "c"), "b"},
		"a set of which two are waited for": {[]string{"c", "b"}, keys(wire.Set, "a", "b", "c"), "b"},
		"another set":                       {[]string{"d"}, keys(wire.Set, "a", "b", "c"), ""},
		"a reader, and others read":         {[]string{ReadersPrefix + "a"}, keys(wire.Reader, "a"), "a"},
		"a reader, and writers wait":        {[]string{"a"}, keys(wire.Reader, "a"), "a"},
		"a reader of another key":           {[]string{"a", ReadersPrefix + "a"}, keys(wire.Reader, "b"), ""},
	} {
		var q localQueues
		for _, key := range test.waiting {
			q.join(key)
		}
		key, is := q.occupied(test.want)
		if is != (test.behind != "") || is && key != test.behind {
			t.Errorf("%s: waits behind others: %v, for %q; want %q", name, is, key, test.behind)
		}
	}
}

// A set that finds another key held is queued there by order of arrival, but behind the call
// that contends there already.
func TestCallThatMovesIsQueuedByOrderOfArrival(t *testing.T) {
	var q localQueues
	set := q.join("a")
	next := q.join("a")
	one, two := q.join("b"), q.join("b")
	set.move("b")
	if !first(next) || len(next.signal) != 1 || !first(one) || first(set) {
		t.Fatal("the local queue that it has left does not go on, or it has taken the first place of the other")
	}
	one.leave()
	if !first(set) || len(set.signal) != 1 {
		t.Error("one that came later stands before it")
	}
	set.leave()
	if !first(two) {
		t.Error("nobody is first")
	}
}

func TestAwaitLeaveLastsUntilEverybodyHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(Config{})
		r.AwaitLeave(time.Minute) // or the bubble would not end in the same instant
		first, second := r.localQueues.join("a"), r.localQueues.join("b")
		returned := make(chan time.Time, 1)
		began := time.Now()
		go func() { r.AwaitLeave(time.Minute); returned <- time.Now() }()
		time.Sleep(time.Second)
		first.leave()
		time.Sleep(time.Second)
		second.leave()
		if took := (<-returned).Sub(began); took != 2*time.Second {
			t.Errorf("it returned after %v, want 2s", took)
		}

		began = time.Now()
		defer r.localQueues.join("a").leave()
		r.AwaitLeave(3 * time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it returned after %v with one who stays, want 3s", took)
		}
	})
}

func TestCallLeavesThePilotsQueueBeforeItsLocalQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begun(t, oneWanted)
		f.w.end()
		f.w.ticket.leave()
		f.all = f.Taken(0, nil)
		inLine := -1
		f.onLeave = func() { inLine = f.w.room.Waiting() }
		want := oneWanted
		ended := make(chan *quorum.Failure, 1)
		go func() { ended <- f.w.room.Acquire(f.ctx, &want, f) }()
		time.Sleep(time.Second)
		f.cancel()
		if <-ended; inLine != 1 {
			t.Errorf("%d calls were in the local queue when the queue was left, want 1 (-1: it was not)", inLine)
		}
	})
}
