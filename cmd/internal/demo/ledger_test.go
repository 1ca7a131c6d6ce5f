package demo

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/redlock"
)

func TestAWindowCountsWhatWasGrantedInIt(t *testing.T) {
	t.Parallel()
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	var l ledger
	for _, s := range []stage.Turn{
		{Called: at(0), Granted: at(10), Done: at(90)},    // before
		{Called: at(20), Granted: at(100), Done: at(120)}, // granted at the start: in, but for grace
		{Called: at(20), Granted: at(149), Done: at(200)}, // the same
		{Called: at(20), Granted: at(150), Done: at(151)}, // asked before, granted after the grace
		{Called: at(100), Granted: at(101), Done: at(111)},
		{Called: at(130), Granted: at(199), Done: at(400)}, // done after
		{Called: at(130), Granted: at(200), Done: at(210)}, // granted after
	} {
		s.Worked = true
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

func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	var l ledger
	before := time.Now()
	failed := func(err error) { l.note(stage.Turn{Called: before, Done: time.Now(), Err: err}) }
	if text, wrong := l.remark(); text != "" || wrong {
		t.Errorf("of nothing: %q, %v", text, wrong)
	}
	failed(fmt.Errorf("%w at the stock", redlock.ErrLost))
	if text, wrong := l.remark(); text != "1 lock lost, without harm" || wrong {
		t.Errorf("of a loss: %q, %v", text, wrong)
	}
	// Only what is both of the kind and has the facts is a refusal.
	failed(redlock.ErrNoQuorum)
	failed(errors.New("second"))
	if text, wrong := l.remark(); text != "2 unexpected failures, the first: no quorum" || !wrong {
		t.Errorf("of others: %q, %v", text, wrong)
	}
	if f := l.in(window{from: before, to: time.Now().Add(time.Hour)}); f.refused != 0 || f.last != nil {
		t.Errorf("refusals: %+v", f)
	}
}
