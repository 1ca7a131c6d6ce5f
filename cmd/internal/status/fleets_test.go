package status

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/looktest"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// judged is the verdict on masters.
func judged(facts ...guard.Facts) func(context.Context) *observe.Verdict {
	return func(context.Context) *observe.Verdict { return looktest.Look(facts...).Verdict() }
}

func TestStatusOfSeveralFleetsIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	belongs := func(key string) string { return map[string]string{"invoices": "eu", "mail": "us", "stray": "us"}[key] }
	good := judged(looktest.Voter("10.0.0.1:6379"), looktest.Voter("10.0.0.2:6379"), looktest.Voter("10.0.0.3:6379"))
	away := judged(looktest.Away("10.0.0.1:6379"), looktest.Away("10.0.0.2:6379"), looktest.Voter("10.0.0.3:6379"))
	free := func(key string) *redlock.Inspection {
		return rig.Answer(key, redlock.VerdictFree, rig.Nothing(), rig.Nothing(), rig.Nothing())
	}
	held := func(key string) *redlock.Inspection {
		return rig.Answer(key, redlock.VerdictHeld, rig.By("billing", 8*time.Second), rig.By("billing", 9*time.Second), rig.Nothing())
	}
	eu := &rig.FakeInspector{Answers: map[string]*redlock.Inspection{"invoices": held("invoices"), "mail": free("mail"), "stray": held("stray")}}
	us := &rig.FakeInspector{Answers: map[string]*redlock.Inspection{"invoices": free("invoices"), "mail": rig.Answer("mail", redlock.VerdictUnknown, rig.Silent(), rig.Silent(), rig.Nothing()), "stray": rig.Answer("stray", redlock.VerdictUnknown, rig.Silent(), rig.Silent(), rig.Nothing())}}
	for name, asJSON := range map[string]bool{"status-fleets": false, "status-fleets-json": true} {
		var out bytes.Buffer
		f := &fleetsStatus{Looks: app.Looks{Out: &out, JSON: asJSON}, wide: func() term.Layout { return term.Layout{} }, views: []*statusView{
			{who: eu, name: "eu", shard: belongs, verdict: good, now: rig.Soon},
			{who: us, name: "us", shard: belongs, verdict: away, now: rig.Soon},
		}}
		code, err := f.look(t.Context(), []string{"invoices", "mail", "stray"})
		if code != app.ExitNoQuorum || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
		rig.Golden(t, name, out.String())
	}
}
