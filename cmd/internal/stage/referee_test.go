package stage

import (
	"context"
	"slices"
	"testing"
	"time"
)

type fakeHold struct {
	left  time.Duration
	fence uint64
}

func (h *fakeHold) Remaining() time.Duration { return h.left }
func (h *fakeHold) Fence() uint64            { return h.fence }

func newReferee() (*Referee, *[]string) {
	var told []string
	return &Referee{Tell: func(text string) { told = append(told, text) }}, &told
}

func TestTwoWhoHoldAtOnceAreToldOfOnce(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	a, b := &fakeHold{left: time.Second}, &fakeHold{left: time.Second}
	first := r.enter("a", a)
	second := r.enter("b", b)
	r.Look()
	r.leave(first)
	r.leave(second)
	if !slices.Equal(*told, []string{"a and b hold the lock at once"}) || r.Count().Overlaps != 1 || !r.Count().Broken() {
		t.Errorf("%q, %+v", *told, r.Count())
	}
}

func TestAHolderWhoseValidityIsOverHoldsNothing(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	a, b := &fakeHold{left: time.Second}, &fakeHold{left: time.Second}
	r.enter("a", a)
	a.left = 0
	r.enter("b", b)
	r.Look()
	if who, left := r.Holder(); who != "b" || left != time.Second {
		t.Errorf("%s holds for %v", who, left)
	}
	if len(*told) != 0 || r.Count().Broken() {
		t.Errorf("%q", *told)
	}
}

func TestAnOverlapThatBeginsLaterIsSeen(t *testing.T) {
	t.Parallel()
	for name, notices := range map[string]func(r *Referee, s *stay){
		"by a look": func(r *Referee, _ *stay) { r.Look() }, "when one leaves": (*Referee).leave,
	} {
		r, told := newReferee()
		a, b := &fakeHold{}, &fakeHold{left: time.Second}
		first := r.enter("a", a)
		r.enter("b", b)
		a.left = time.Second // extended although it was over
		notices(r, first)
		if len(*told) != 1 {
			t.Errorf("%s: %q", name, *told)
		}
	}
}

func TestTokensHaveToRise(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	for _, token := range []uint64{7, 9, 9, 8, 10} {
		r.leave(r.enter("a", &fakeHold{left: time.Second, fence: token}))
	}
	r.leave(r.enter("a", &fakeHold{fence: 3})) // over before it was entered: not the latest holder
	want := []string{"a has fencing token 9, after 9", "a has fencing token 8, after 9"}
	if c := r.Count(); !slices.Equal(*told, want) || c.TokensFallen != 2 || c.Tokens != 5 || !c.Broken() {
		t.Errorf("%q, %+v", *told, c)
	}
}

func TestOneWithoutALockHoldsAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	leave := r.Enter(t.Context(), "a")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r.Enter(over, "b")() // came in with a lock that was lost
	if c := r.Count(); c.Most != 1 || c.Broken() {
		t.Errorf("%+v", c)
	}
	r.Enter(t.Context(), "c")()
	leave()
	r.Enter(t.Context(), "d")() // all others have left
	if c := r.Count(); c.Most != 2 || c.Overlaps != 1 || !slices.Equal(*told, []string{"a and c hold the lock at once"}) {
		t.Errorf("%+v, %q", c, *told)
	}
}
