package waitqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

func first(p *place) bool { return p.state().first }

func occupied(q *lines, want *Want) bool {
	_, is := q.occupied(want)
	return is
}

func TestALineIsFirstComeFirstServedAndGoneWhenEmpty(t *testing.T) {
	var q lines
	a, b, c := q.join("key"), q.join("key"), q.join("key")
	if !first(a) || first(b) || first(c) || !occupied(&q, plain("key")) || occupied(&q, plain("other")) {
		t.Error("the first to come is not the first")
	}
	b.leave() // gives up
	a.leave()
	if !first(c) || len(c.signal) != 1 {
		t.Error("the last one was not called")
	}
	c.leave()
	if len(q.byKey) != 0 || q.waiting.Load() != 0 || q.wakeFirst("key") {
		t.Error("something is left")
	}
}

func TestWhenWaitingIsInVainAllInTheLineAreTold(t *testing.T) {
	var q lines
	a, b, other := q.join("key"), q.join("key"), q.join("other")
	// Who waits for one of several keys hears it from whoever tries in its place; where it
	// is the first itself it finds out.
	either, neither := q.join("key", "third"), q.join("other", "fourth")
	why := &outcome.Failure{}
	a.fail(why)
	for i, p := range []*place{b, either} {
		if err := p.state().err; err != why || len(p.signal) != 1 {
			t.Errorf("number %d was told %v", i, err)
		}
	}
	for i, p := range []*place{other, neither} {
		if err := p.state().err; err != nil || len(p.signal) != 0 {
			t.Errorf("number %d, which waits for another key, was told %v", i, err)
		}
	}
}

func plain(key string) *Want { return &Want{Keys: []string{key}, Kind: wire.Plain} }

// Whatever is wanted: who would wait for a key stands behind those who wait for it already,
// and asks nobody.
func TestACallWaitsBehindThoseWhoWaitForItsKeyWhateverTheyWant(t *testing.T) {
	keys := func(k *wire.Kind, keys ...string) *Want { return &Want{Keys: keys, Kind: k} }
	for name, test := range map[string]struct {
		waiting [][]string // the lines of those who wait
		want    *Want
		behind  string // whom it waits; "": nobody
	}{
		"a key":                                       {[][]string{{"a"}}, plain("a"), "a"},
		"another key":                                 {[][]string{{"a"}}, plain("b"), ""},
		"a key that is one of several":                {[][]string{{"a", "b"}}, plain("b"), "b"},
		"a key that others want to read":              {[][]string{{wakeup.Readers + "a"}}, plain("a"), ""},
		"a set":                                       {[][]string{{"b"}}, keys(wire.Set, "a", "b", "c"), "b"},
		"a set of which two are waited for":           {[][]string{{"c"}, {"b"}}, keys(wire.Set, "a", "b", "c"), "b"},
		"another set":                                 {[][]string{{"d"}}, keys(wire.Set, "a", "b", "c"), ""},
		"a reader, and others read":                   {[][]string{{wakeup.Readers + "a"}}, keys(wire.Reader, "a"), "a"},
		"a reader, and writers wait":                  {[][]string{{"a"}}, keys(wire.Reader, "a"), "a"},
		"a reader of another key":                     {[][]string{{"a"}, {wakeup.Readers + "a"}}, keys(wire.Reader, "b"), ""},
		"one of several, of which none is free":       {[][]string{{"a"}, {"b", "c"}}, keys(wire.AnyOf, "a", "b"), "a"},
		"one of several, and nobody waits for one":    {[][]string{{"a"}}, keys(wire.AnyOf, "a", "b"), ""},
		"one of several, and nobody waits for either": {[][]string{{"c"}}, keys(wire.AnyOf, "a", "b"), ""},
	} {
		var q lines
		for _, keys := range test.waiting {
			q.join(keys...)
		}
		key, is := q.occupied(test.want)
		if is != (test.behind != "") || is && key != test.behind {
			t.Errorf("%s: waits behind others: %v, for %q; want %q", name, is, key, test.behind)
		}
	}
}

// Who wants one of several keys looks at those for which nobody stands before it, and has
// left all when it has one.
func TestAPlaceInSeveralLinesIsFirstInEachByItself(t *testing.T) {
	var q lines
	a := q.join("a")
	either := q.join("a", "b", "c")
	c := q.join("c")
	if got := either.first(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("first for %q, want b and c", got)
	}
	if !q.call(wakeup.Call{Key: "a"}) || !q.call(wakeup.Call{Master: 1, Key: "b"}) || q.call(wakeup.Call{Key: "d"}) {
		t.Error("a call is heard by the first who waits for its key")
	}
	if a, b := a.unheard(), either.unheard(); !slices.Equal(a, []wakeup.Call{{Key: "a"}}) || !slices.Equal(b, []wakeup.Call{{Master: 1, Key: "b"}}) {
		t.Errorf("the first for a was called by %v, the one for b by %v", a, b)
	}
	a.leave()
	if got := either.first(); len(got) != 3 || len(either.signal) != 1 {
		t.Errorf("first for %q, and woken %d times: want for all of them, once", got, len(either.signal))
	}
	if either.leave(); !first(c) || len(c.signal) != 1 {
		t.Error("the next one was not woken")
	}
}

// A set that finds another key in its way is served there by when it came, but whoever has
// begun there goes on.
func TestACallThatMovesStandsWhereItWouldHaveStood(t *testing.T) {
	var q lines
	set := q.join("a")
	next := q.join("a")
	one, two := q.join("b"), q.join("b")
	set.move("b")
	if !first(next) || len(next.signal) != 1 || !first(one) || first(set) {
		t.Fatal("the line that it has left does not go on, or it has taken the first place of the other")
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
		first, second := r.lines.join("a"), r.lines.join("b")
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
		defer r.lines.join("a").leave()
		r.AwaitLeave(3 * time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it returned after %v with one who stays, want 3s", took)
		}
	})
}

func TestACallLeavesTheQueuesBeforeItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begun(t, oneWanted)
		f.w.end()
		f.w.place.leave()
		f.all = f.Taken(0, nil)
		inLine := -1
		f.onLeave = func() { inLine = f.w.room.Waiting() }
		want := oneWanted
		ended := make(chan *outcome.Failure, 1)
		go func() { ended <- f.w.room.Acquire(f.ctx, &want, f) }()
		time.Sleep(time.Second)
		f.cancel()
		if <-ended; inLine != 1 {
			t.Errorf("%d calls were in the line when the queue was left, want 1 (-1: it was not)", inLine)
		}
	})
}
