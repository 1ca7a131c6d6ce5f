package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/redlock"
)

// A sequence gives one answer after the other, the last one again and again.
type sequence struct {
	answers []*redlock.Inspection
	asked   int
}

func (s *sequence) Inspect(context.Context, string) (*redlock.Inspection, error) {
	s.asked++
	return s.answers[min(s.asked, len(s.answers))-1], nil
}

func TestWhenWaitLooksAgain(t *testing.T) {
	t.Parallel()
	held := func(ttl time.Duration) *redlock.Inspection {
		return rig.Answer("k", redlock.VerdictHeld, rig.By("a", ttl), rig.By("a", ttl), rig.By("a", ttl))
	}
	free := rig.Answer("k", redlock.VerdictFree, rig.Nothing(), rig.Nothing(), rig.Nothing())
	loose := rig.Answer("k", redlock.VerdictPartial, rig.By("a", time.Minute), rig.Nothing(), rig.Nothing())
	unknown := rig.Answer("k", redlock.VerdictUnknown, rig.Silent(), rig.Silent(), rig.Nothing())
	for _, test := range []struct {
		name        string
		answers     []*redlock.Inspection
		timeout     time.Duration
		asked       int // times; 0: as many as the time says
		code        int
		least, most time.Duration
	}{
		{"free", []*redlock.Inspection{free}, 0, 1, 0, 0, 0},
		{"held for long", []*redlock.Inspection{held(time.Minute), held(time.Minute), free}, 0, 3, 0, 2 * waitEvery * 4 / 5, 2 * waitEvery},
		{"held for a moment", []*redlock.Inspection{held(150 * time.Millisecond), free}, 0, 2, 0, 151 * time.Millisecond, 151 * time.Millisecond},
		{"left over", []*redlock.Inspection{loose, loose}, 0, 2, 0, waitLeast, waitLeast},
		{"an attempt under way", []*redlock.Inspection{loose, held(time.Minute), loose, free}, 0, 4, 0, 2*waitLeast + waitEvery*4/5, 2*waitLeast + waitEvery},
		{"an outage that ends", []*redlock.Inspection{unknown, unknown, held(time.Minute), unknown, free}, 0, 5, 0, 3 * waitLeast, 3*waitLeast + waitEvery},
		{"an outage", []*redlock.Inspection{unknown}, 0, 0, app.ExitNoQuorum, SilenceBound, SilenceBound + 2*waitLeast},
		{"a time-out in an outage", []*redlock.Inspection{held(time.Minute), unknown}, time.Second, 0, app.ExitNoQuorum, time.Second, time.Second},
		{"a time-out", []*redlock.Inspection{held(time.Minute)}, 200 * time.Millisecond, 2, app.ExitBusy, 200 * time.Millisecond, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sequence{answers: test.answers}
				began := time.Now()
				w := &waitFor{client: s, key: "k", timeout: test.timeout}
				code, took := app.ExitCode(w.run(t.Context())), time.Since(began)
				if code != test.code || took < test.least || took > test.most || test.asked > 0 && s.asked != test.asked {
					t.Errorf("exit code %d after %v and %d looks", code, took, s.asked)
				}
			})
		})
	}
}

func TestAWaitThatIsInterruptedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &sequence{answers: []*redlock.Inspection{rig.Answer("k", redlock.VerdictHeld, rig.By("a", time.Minute))}}
	w := &waitFor{client: s, key: "k", tell: func(*redlock.Inspection) bool {
		cancel(errors.New("enough"))
		return true
	}}
	if err := w.run(ctx); err == nil || err.Error() != "enough" {
		t.Error(err)
	}
}
