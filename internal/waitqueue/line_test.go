package waitqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

func first(p *place) bool {
	is, _ := p.state()
	return is
}

func TestALineIsFirstComeFirstServedAndGoneWhenEmpty(t *testing.T) {
	var q lines
	a, b, c := q.join("key"), q.join("key"), q.join("key")
	if !first(a) || first(b) || first(c) || !q.occupied(plain("key")) || q.occupied(plain("other")) {
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
	why := &outcome.Failure{}
	a.fail(why)
	for _, p := range []*place{a, b} {
		if _, err := p.state(); err != why {
			t.Errorf("%v", err)
		}
	}
	if _, err := other.state(); err != nil {
		t.Errorf("another key's: %v", err)
	}
}

func plain(key string) *Want { return &Want{Keys: []any{key}, Kind: wire.Plain} }

// Were a set to stand in the line of one of its keys, who holds that one and waits for
// another would wait for itself.
func TestOnlyCallsThatWantTheSameStandInOneLine(t *testing.T) {
	var q lines
	set := &Want{Keys: []any{"a", "b"}, Kind: wire.Set}
	p := q.join(set.line())
	defer p.leave()
	if !q.occupied(&Want{Keys: []any{"a", "b"}, Kind: wire.Set}) {
		t.Error("the line of the same set is another one")
	}
	for _, other := range []*Want{
		plain("a"), plain("b"), plain("a\x00b"),
		{Keys: []any{"a", "b"}, Kind: wire.AnyOf},
		{Keys: []any{"a"}, Kind: wire.Set},
		{Keys: []any{"a", "b", "c"}, Kind: wire.Set},
	} {
		if q.occupied(other) {
			t.Errorf("%v %q stands in the line of the set", other.Kind.Name(), other.Keys)
		}
	}
}

func TestAwaitLeaveLastsUntilEverybodyHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
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
