package locks

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// looked is a lock as a look found it: asked at a time after noon, answered a while
// later, with so much left on each master.
func looked(after, took time.Duration, token string, left ...time.Duration) []Lock {
	in := &redlock.Inspection{Key: "k"}
	for i, d := range left {
		in.Masters = append(in.Masters, redlock.MasterHold{Master: string(rune('a' + i)), Held: &redlock.HeldError{Type: "string", Token: token, TTL: d}})
	}
	return []Lock{{Inspection: in, Asked: noon.Add(after), Answered: noon.Add(after + took)}}
}

func TestARenewalIsSeenWhereAKeyEndsLaterThanBefore(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name          string
		first, second []Lock
		renewed       bool
	}{
		{"renewed", looked(0, 0, "t", 5*s, 5*s), looked(2*s, 0, "t", 9*s, 9*s), true},
		{"on one master of two", looked(0, 0, "t", 5*s, 5*s), looked(2*s, 0, "t", 3*s, 4*s), true},
		{"left alone", looked(0, 0, "t", 5*s, 5*s), looked(2*s, 0, "t", 3*s, 3*s), false},
		{"as long, but another token", looked(0, 0, "t", 5*s), looked(2*s, 0, "u", 9*s), false},
		{"perhaps, if the first answer was late", looked(0, s, "t", 5*s), looked(2*s, 0, "t", 3900*time.Millisecond), false},
		{"later than a late answer explains", looked(0, s, "t", 5*s), looked(2*s, 0, "t", 4100*time.Millisecond), true},
		{"the first look saw another master", looked(0, 0, "t"), looked(2*s, 0, "t", 9*s), false},
	} {
		var r Renewals
		r.Note(test.first)
		r.Note(test.second)
		w := r.Of("k", test.second[0].Masters[0].Held.Token)
		if w == nil || !w.Renewed.IsZero() != test.renewed || test.renewed && !w.Renewed.Equal(noon) {
			t.Errorf("%s: %+v", test.name, w)
		}
	}
}

func TestAHoldIsWatchedSinceItWasSeenFirst(t *testing.T) {
	var r Renewals
	for i := range 4 {
		r.Note(looked(time.Duration(i)*time.Second, 0, "t", 9*time.Second))
	}
	if w := r.Of("k", "t"); w == nil || !w.Since.Equal(noon) || !w.Renewed.Equal(noon.Add(2*time.Second)) {
		t.Errorf("%+v", w)
	}
	r.Note(nil)
	if w := r.Of("k", "t"); w != nil {
		t.Errorf("a hold that is gone is remembered: %+v", w)
	}
}
