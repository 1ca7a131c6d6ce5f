package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestAWindowCountsWhatWasGrantedInIt(t *testing.T) {
	t.Parallel()
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	var l ledger
	for _, s := range []sale{
		{at(0), at(10), at(90)},    // before
		{at(20), at(100), at(120)}, // granted at the start: in, but for grace
		{at(20), at(149), at(200)}, // the same
		{at(20), at(150), at(151)}, // asked before, granted after the grace
		{at(100), at(101), at(111)},
		{at(130), at(199), at(400)}, // done after
		{at(130), at(200), at(210)}, // granted after
	} {
		l.sold(s)
	}
	for _, test := range []struct {
		grace int
		sales int
		p50   int
		p99   int
	}{
		{0, 5, 131, 270},
		{50, 3, 131, 270},
	} {
		f := l.in(window{at(100), at(200), time.Duration(test.grace) * time.Millisecond})
		if ms := time.Millisecond; f.sales != test.sales || f.p50 != time.Duration(test.p50)*ms || f.p99 != time.Duration(test.p99)*ms {
			t.Errorf("grace %d ms: %+v, want %+v", test.grace, f, test)
		}
	}
	if first, ok := l.firstAfter(at(101)); !ok || !first.Equal(at(151)) {
		t.Errorf("first after 101 ms: %v, %v", first.Sub(zero), ok)
	}
	if _, ok := l.firstAfter(at(200)); ok {
		t.Error("a first sale after the last")
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	var l ledger
	before := time.Now()
	if text, wrong := l.remark(); text != "" || wrong {
		t.Errorf("of nothing: %q, %v", text, wrong)
	}
	l.failed(before, fmt.Errorf("%w at the stock", redlock.ErrLost))
	if text, wrong := l.remark(); text != "1 lock lost, without harm" || wrong {
		t.Errorf("of a loss: %q, %v", text, wrong)
	}
	// Only what is both of the kind and has the facts is a refusal.
	l.failed(before, redlock.ErrNoQuorum)
	l.failed(before, errors.New("second"))
	if text, wrong := l.remark(); text != "2 unexpected failures, the first: no quorum" || !wrong {
		t.Errorf("of others: %q, %v", text, wrong)
	}
	if f := l.in(window{from: before, to: time.Now().Add(time.Hour)}); f.refused != 0 || f.last != nil {
		t.Errorf("refusals: %+v", f)
	}
}

func TestTheDoorCountsOnlyThoseWhoMayBelieveTheyAreAlone(t *testing.T) {
	t.Parallel()
	var d door
	leave := d.enter(1, t.Context())
	if d.mostInside() != 1 {
		t.Errorf("%d inside, want 1", d.mostInside())
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	d.enter(2, over)() // came in with a lock that was lost
	if d.mostInside() != 1 {
		t.Errorf("%d inside, want 1", d.mostInside())
	}
	d.enter(3, t.Context())()
	if d.mostInside() != 2 {
		t.Errorf("%d inside, want 2", d.mostInside())
	}
	leave()
	d.enter(4, t.Context())()
	if d.mostInside() != 2 {
		t.Errorf("%d inside, want 2: all others have left", d.mostInside())
	}
}

func TestBuyersAreTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	sequence := func(seed uint64) string {
		var s strings.Builder
		for id := range 4 {
			b := newBuyer(id, 32, seed)
			fmt.Fprintln(&s, b.mean, around(b.rand, b.mean), around(b.rand, b.mean))
			if b.mean < 7*time.Millisecond || b.mean > 21*time.Millisecond {
				t.Errorf("buyer %d comes back after %v", id, b.mean)
			}
		}
		return s.String()
	}
	first, again, other := sequence(1), sequence(1), sequence(2)
	if first != again || first == other {
		t.Errorf("seeds 1, 1 and 2:\n%s%s%s", first, again, other)
	}
}
