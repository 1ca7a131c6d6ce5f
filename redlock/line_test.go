package redlock

import (
	"testing"

	"github.com/redquorum/redquorum/internal/outcome"
)

func first(p *place) bool {
	is, _ := p.state()
	return is
}

func TestALineIsFirstComeFirstServedAndGoneWhenEmpty(t *testing.T) {
	var q lines
	a, b, c := q.join("key"), q.join("key"), q.join("key")
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
