package guard

import (
	"slices"
	"testing"
	"time"
)

// A master is adopted when it has been known to be empty for a second, whichever client saw it.
func TestEmptyMastersAreAdoptedAfterASecondUnlessOneIsPending(t *testing.T) {
	const s = time.Second
	q := config(Standard).Quarantine()
	for name, test := range map[string]struct {
		sighted []time.Duration // of the first masters, which are empty, seen at 1 s
		pending bool            // the last one
		passed  time.Duration   // since then
		want    Step
		on      []int // nil: all that are empty
	}{
		"just seen":                          {[]time.Duration{0, 0}, false, 0, Wait, nil},
		"almost a second ago":                {[]time.Duration{0, 0}, false, s - 1, Wait, nil},
		"a second ago":                       {[]time.Duration{0, 0}, false, s, ToAdopt, nil},
		"a second ago, by others":            {[]time.Duration{s, s}, false, 0, ToAdopt, nil},
		"one of them later":                  {[]time.Duration{s, s / 2}, false, s/2 - 1, ToAdopt, []int{0}},
		"one of them later, at last":         {[]time.Duration{s, s / 2}, false, s / 2, ToAdopt, nil},
		"long ago, one has not answered":     {[]time.Duration{q - s, q - s}, true, s - 1, Wait, nil},
		"so long that they may vote":         {[]time.Duration{q - s, q - s}, true, s, ToAdopt, nil},
		"hours ago, it has not answered":     {[]time.Duration{time.Hour, time.Hour}, true, 0, ToAdopt, nil},
		"one hours ago, the other just now":  {[]time.Duration{time.Hour, 0}, true, s, ToAdopt, []int{0}},
		"one hours ago, the other a second":  {[]time.Duration{time.Hour, 0}, false, s, ToAdopt, nil},
		"one hours ago, the other not quite": {[]time.Duration{0, time.Hour}, false, s - 1, ToAdopt, []int{1}},
	} {
		c := config(Standard)
		facts := fleet(c)
		for i := range facts {
			facts[i].Marker.How = HowRestarted
		}
		var want []int
		for i, sighted := range test.sighted {
			m := missingAt(s)
			m.Sighted = sighted
			facts[i].Answer(m)
			want = append(want, i)
		}
		if test.on != nil {
			want = test.on
		}
		facts[4].Pending = test.pending
		p := c.Plan(facts, at(s+test.passed))
		if p.Step != test.want || p.Step == ToAdopt && !slices.Equal(p.Masters, want) {
			t.Errorf("%s: %+v, want %d", name, p, test.want)
		}
	}
}

// The client that declares them may be slow: its declaration must find the masters as they were.
func TestUnknownEmptyMasterBesideDeclaredOnesIsAdoptedAfterTenSeconds(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		change func(f *Facts)
		maxTTL time.Duration
		after  time.Duration
	}{
		"nobody has known it": {func(*Facts) {}, time.Minute, 10 * s},
		"it would vote":       {func(*Facts) {}, 2 * s, 0},
		"we have known it":    {func(f *Facts) { f.Seen, f.Ours = "0", true }, time.Minute, s},
		"others, and we":      {func(f *Facts) { f.Marker.Known, f.Ours = true, true }, time.Minute, s},
	} {
		c := config(Standard)
		c.MaxTTL = test.maxTTL
		facts := fleet(c)
		facts[0].empty()
		test.change(&facts[0])
		if test.after == 0 {
			test.after = c.Quarantine()
		}
		for passed, want := range map[time.Duration]Step{test.after - 1: Wait, test.after: ToAdopt} {
			if p := c.Plan(facts, at(s+passed)); p.Step != want {
				t.Errorf("%s: %+v after %v, want %d", name, p, passed, want)
			}
		}
	}
}
