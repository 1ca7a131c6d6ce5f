package chaos

import (
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

func newReferee() (*referee, *[]string) {
	var told []string
	return &referee{tell: func(text string) { told = append(told, text) }}, &told
}

func TestTwoWhoHoldAtOnceAreToldOfOnce(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	a, b := &fakeHold{left: time.Second}, &fakeHold{left: time.Second}
	first := r.enter("a", a)
	second := r.enter("b", b)
	r.look()
	r.leave(first)
	r.leave(second)
	if !slices.Equal(*told, []string{"a and b hold the lock at once"}) || r.count().Overlaps != 1 || !r.count().Broken() {
		t.Errorf("%q, %+v", *told, r.count())
	}
}

func TestAHolderWhoseValidityIsOverHoldsNothing(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	a, b := &fakeHold{left: time.Second}, &fakeHold{left: time.Second}
	r.enter("a", a)
	a.left = 0
	r.enter("b", b)
	r.look()
	if who, left := r.holder(); who != "b" || left != time.Second {
		t.Errorf("%s holds for %v", who, left)
	}
	if len(*told) != 0 || r.count().Broken() {
		t.Errorf("%q", *told)
	}
}

func TestAnOverlapThatBeginsLaterIsSeenByALook(t *testing.T) {
	t.Parallel()
	r, told := newReferee()
	a, b := &fakeHold{}, &fakeHold{left: time.Second}
	r.enter("a", a)
	r.enter("b", b)
	a.left = time.Second // extended although it was over
	r.look()
	if len(*told) != 1 {
		t.Errorf("%q", *told)
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
	if c := r.count(); !slices.Equal(*told, want) || c.TokensFallen != 2 || c.Tokens != 5 || !c.Broken() {
		t.Errorf("%q, %+v", *told, c)
	}
}
