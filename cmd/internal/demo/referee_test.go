package demo

import (
	"context"
	"testing"
)

func TestRefereeCountsTheMostBuyersAtOnce(t *testing.T) {
	t.Parallel()
	var r referee
	leave := r.enter(t.Context())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r.enter(over)() // came in with a lock that was lost
	if most := r.mostAtOnce(); most != 1 {
		t.Errorf("%d at once", most)
	}
	r.enter(t.Context())()
	leave()
	r.enter(t.Context())() // all others have left
	if most := r.mostAtOnce(); most != 2 {
		t.Errorf("%d at once", most)
	}
}
