package redlock

import "testing"

func first(p *place) bool {
	is, _ := p.state()
	return is
}

func TestALineIsFirstComeFirstServedAndGoneWhenEmpty(t *testing.T) {
	var q lines
	a, b, c := q.join([]string{"key"}), q.join([]string{"key"}), q.join([]string{"key"})
	if !first(a) || first(b) || first(c) || !q.occupied("key") || q.occupied("other") {
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

// Calls for several keys wait for the first place in all of their lines, and
// never for each other in a circle.
func TestAPlaceInSeveralLinesIsFirstWhenItIsInAll(t *testing.T) {
	var q lines
	a, ab, bc, c := q.join([]string{"a"}), q.join([]string{"a", "b"}), q.join([]string{"b", "c"}), q.join([]string{"c"})
	if !first(a) || first(ab) || first(bc) || first(c) {
		t.Error("at first")
	}
	a.leave()
	if !first(ab) || first(bc) || first(c) {
		t.Error("after a")
	}
	ab.leave()
	if !first(bc) || first(c) {
		t.Error("after ab")
	}
	bc.leave()
	if !first(c) {
		t.Error("after bc")
	}
	c.leave()
	if len(q.byKey) != 0 {
		t.Error("something is left")
	}
}

func TestWhenWaitingIsInVainAllInTheLineAreTold(t *testing.T) {
	var q lines
	a, b, other := q.join([]string{"key"}), q.join([]string{"key"}), q.join([]string{"other"})
	a.fail(ErrNoQuorum)
	for _, p := range []*place{a, b} {
		if _, err := p.state(); err != ErrNoQuorum { //nolint:errorlint // this very value
			t.Errorf("%v", err)
		}
	}
	if _, err := other.state(); err != nil {
		t.Errorf("another key's: %v", err)
	}
}
