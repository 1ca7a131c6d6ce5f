package demo

import (
	"testing"
	"time"
)

func TestAWindowCountsWhatWasGrantedInIt(t *testing.T) {
	t.Parallel()
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	var l ledger
	for _, s := range []turn{
		{called: at(0), granted: at(10), done: at(90)},    // before
		{called: at(20), granted: at(100), done: at(120)}, // granted at the start: counts without grace
		{called: at(20), granted: at(149), done: at(200)}, // the same
		{called: at(20), granted: at(150), done: at(151)}, // asked before, granted after the grace
		{called: at(100), granted: at(101), done: at(111)},
		{called: at(130), granted: at(199), done: at(400)}, // done after
		{called: at(130), granted: at(200), done: at(210)}, // granted after
	} {
		s.bought = true
		l.note(s)
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
