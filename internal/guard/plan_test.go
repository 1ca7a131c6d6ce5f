package guard

import (
	"slices"
	"testing"
	"time"
)

// absent is a master that is out of reach.
func absent(f *Facts) { *f = Facts{Master: f.Master} }

func TestPlanOfWhatMarkersSayOfTheirFleet(t *testing.T) {
	all := []int{0, 1, 2, 3, 4}
	named := func(ids ...string) func([]Facts) {
		return func(f []Facts) {
			for i, id := range ids {
				f[i].Marker.Fleet = id
			}
		}
	}
	// declared makes all but the last declared without it.
	declared := func(f []Facts) {
		for i := range f[:4] {
			f[i].Marker.Without, f[i].Marker.How, f[i].Marker.Since, f[i].Marker.Wall = "1", HowDeclared, "0", "0"
		}
	}
	back := func(id, how string, verdict Verdict) func([]Facts) {
		return func(f []Facts) {
			declared(f)
			f[4].Marker.Fleet, f[4].Marker.How, f[4].Marker.Verdict = id, how, verdict
		}
	}
	for name, test := range map[string]struct {
		change func(f []Facts) // of a fleet where all have the same id, f1
		want   Plan
	}{
		"as it should be":              {func([]Facts) {}, Plan{}},
		"none has a name":              {named("", "", "", "", ""), Plan{ToName, all, "new"}},
		"a quorum has none, two away":  {func(f []Facts) { named("", "", "", "", "")(f); absent(&f[0]); absent(&f[1]) }, Plan{ToName, []int{2, 3, 4}, "new"}},
		"three are away":               {func(f []Facts) { named("", "", "", "", "")(f); absent(&f[0]); absent(&f[1]); absent(&f[2]) }, Plan{}},
		"one has none":                 {named("f1", "", "f1", "f1", "f1"), Plan{ToName, []int{1}, "f1"}},
		"a quorum has one":             {named("f1", "", "f1", "", "f1"), Plan{ToName, []int{1, 3}, "f1"}},
		"two have one":                 {named("f1", "", "f1", "", ""), Plan{ToName, []int{1, 3, 4}, "f1"}},
		"several ids":                  {named("f3", "f2", "f2", "f1", "f3"), Plan{ToName, []int{0, 1, 2, 4}, "f1"}},
		"several ids, one none":        {named("f3", "f2", "f2", "", "f3"), Plan{ToName, []int{0, 3, 4}, "f2"}},
		"a quorum has the greater":     {named("f2", "f2", "f1", "f1", "f2"), Plan{}}, // it does not change any more
		"a quorum has the greater, ''": {named("f2", "f2", "f1", "", "f2"), Plan{ToName, []int{3}, "f2"}},
		// One that is away may have what makes an id that of a quorum.
		"two of five have the greater": {func(f []Facts) { named("", "f2", "f2", "f1", "f1")(f); absent(&f[0]) }, Plan{}},
		"one of five has the greater":  {func(f []Facts) { named("", "f1", "f1", "f2", "")(f); absent(&f[0]) }, Plan{ToName, []int{3, 4}, "f1"}},
		"one cannot be asked":          {func(f []Facts) { named("f1", "", "", "f1", "f1")(f); f[1].MarkerErr = errTest }, Plan{ToName, []int{2}, "f1"}},
		"one is of other settings":     {func(f []Facts) { named("f1", "", "", "f1", "f1")(f); f[1].Marker.MaxTTL = "1" }, Plan{ToName, []int{2}, "f1"}},
		"one is of another fleet":      {func(f []Facts) { named("f1", "", "", "f1", "f1")(f); f[1].Marker.Verdict = Conflict }, Plan{}},

		"declared without one, away": {func(f []Facts) { declared(f); absent(&f[4]) }, Plan{}},
		"declared, one adopted since": {func(f []Facts) {
			declared(f)
			absent(&f[4])
			f[1].Marker.Fleet, f[1].Marker.How, f[1].Marker.Without = "", HowAdopted, ""
		}, Plan{ToName, []int{1}, "f1"}},
		"it came and was adopted":        {back("f1", HowAdopted, Same), Plan{ToComplete, []int{0, 1, 2, 3}, "f1"}},
		"it is adopted, named not yet":   {back("", HowAdopted, Adopted), Plan{ToName, []int{4}, "f1"}},
		"created, named not yet":         {back("", HowCreated, Created), Plan{ToName, []int{4}, "f1"}},
		"it came, another went":          {func(f []Facts) { back("f1", HowAdopted, Same)(f); absent(&f[0]) }, Plan{}},
		"it has been told already":       {func(f []Facts) { back("f1", HowAdopted, Same)(f); f[0].Marker.Without = "" }, Plan{ToComplete, []int{1, 2, 3}, "f1"}},
		"it has a marker of its own":     {back("f0", HowDeclared, Same), Plan{ToRevoke, []int{0, 1, 2, 3}, "f1"}},
		"adopted by another fleet":       {back("f0", HowAdopted, Same), Plan{ToRevoke, []int{0, 1, 2, 3}, "f1"}},
		"given lately by another fleet":  {func(f []Facts) { back("", "", Same)(f); f[4].restarted(Adopted); f[4].Marker.Fleet = "f0" }, Plan{}},
		"restarted, of its own":          {back("f0", HowRestarted, Restarted), Plan{ToRevoke, []int{0, 1, 2, 3}, "f1"}},
		"of its own, without a name":     {back("", HowDeclared, Same), Plan{ToRevoke, []int{0, 1, 2, 3}, "f1"}},
		"of version 1 until now":         {back("", "", Same), Plan{ToRevoke, []int{0, 1, 2, 3}, "f1"}},
		"restarted, without a name":      {back("", HowRestarted, Restarted), Plan{ToRevoke, []int{0, 1, 2, 3}, "f1"}},
		"of its own, one revoked":        {func(f []Facts) { back("f0", HowDeclared, Same)(f); f[2].Marker.Without = "" }, Plan{ToRevoke, []int{0, 1, 3}, "f1"}},
		"of its own, all revoked":        {func(f []Facts) { named("f1", "f1", "f1", "f1", "f0")(f) }, Plan{}},
		"of its own, but it went again":  {func(f []Facts) { back("f0", HowDeclared, Same)(f); f[4].Connected = false }, Plan{}},
		"of its own, and it cannot tell": {func(f []Facts) { back("f0", HowDeclared, Same)(f); f[4].MarkerErr = errTest }, Plan{}},
		// Before anybody is adopted: the others must not vote meanwhile.
		"of its own, and one is empty": {func(f []Facts) {
			back("f0", HowDeclared, Same)(f)
			f[0].Answer(missingAt(time.Second))
		}, Plan{ToRevoke, []int{1, 2, 3}, "f1"}},
		"declared twice, as two fleets": {func(f []Facts) {
			declared(f)
			named("f2", "f1", "f2", "f1", "f1")(f)
		}, Plan{ToRevoke, []int{1, 3}, "f1"}},
	} {
		for _, level := range []Level{Standard, Strict} {
			c := config(level)
			facts := fleet(c)
			test.change(facts)
			want := test.want
			if want.Fleet == "new" {
				want.Fleet = c.NewFleetID(facts)
			}
			got := c.Plan(facts, at(time.Second))
			slices.Sort(got.Masters)
			if got.Step != want.Step || got.Fleet != want.Fleet || !slices.Equal(got.Masters, want.Masters) {
				t.Errorf("%s, %v: %+v, want %+v", name, level, got, want)
			}
			slices.Reverse(facts)
			got = c.Plan(facts, at(time.Second))
			for i := range got.Masters {
				got.Masters[i] = len(facts) - 1 - got.Masters[i]
			}
			slices.Sort(got.Masters)
			if got.Step != want.Step || got.Fleet != want.Fleet || !slices.Equal(got.Masters, want.Masters) {
				t.Errorf("%s, %v: in another order %+v, want %+v", name, level, got, want)
			}
		}
	}
	off := config(Off)
	facts := fleet(off)
	named("", "", "", "", "")(facts)
	if p := off.Plan(facts, at(0)); p.Step != Nothing {
		t.Errorf("off: %+v", p)
	}
}

// Those that have been known to be empty for a second, whoever has seen it.
func TestEmptyMastersAreAdoptedWhenNothingMoreIsToBeLearnt(t *testing.T) {
	const s = time.Second
	q := config(Standard).Quarantine()
	for name, test := range map[string]struct {
		sighted []time.Duration // of the first masters, which are empty, seen at 1 s
		pending bool            // the last one
		passed  time.Duration   // since then
		want    Step
	}{
		"just seen":                          {[]time.Duration{0, 0}, false, 0, Wait},
		"almost a second ago":                {[]time.Duration{0, 0}, false, s - 1, Wait},
		"a second ago":                       {[]time.Duration{0, 0}, false, s, ToAdopt},
		"a second ago, by others":            {[]time.Duration{s, s}, false, 0, ToAdopt},
		"one of them later":                  {[]time.Duration{s, s / 2}, false, s/2 - 1, Wait},
		"one of them later, at last":         {[]time.Duration{s, s / 2}, false, s / 2, ToAdopt},
		"long ago, one has not answered":     {[]time.Duration{q - s, q - s}, true, s - 1, Wait},
		"so long that they may vote":         {[]time.Duration{q - s, q - s}, true, s, ToAdopt},
		"hours ago, it has not answered":     {[]time.Duration{time.Hour, time.Hour}, true, 0, ToAdopt},
		"one hours ago, the other just now":  {[]time.Duration{time.Hour, 0}, true, s, Wait},
		"one hours ago, the other a second":  {[]time.Duration{time.Hour, 0}, false, s, ToAdopt},
		"one hours ago, the other not quite": {[]time.Duration{0, time.Hour}, false, s - 1, Wait},
	} {
		c := config(Standard)
		facts := fleet(c)
		var want []int
		for i, sighted := range test.sighted {
			m := missingAt(s)
			m.Sighted = sighted
			facts[i].Answer(m)
			want = append(want, i)
		}
		facts[4].Pending = test.pending
		p := c.Plan(facts, at(s+test.passed))
		if p.Step != test.want || p.Step == ToAdopt && (!slices.Equal(p.Masters, want) || p.Fleet != "f1") {
			t.Errorf("%s: %+v, want %d", name, p, test.want)
		}
	}
}

func TestTheIDOfAFleetIsTheSameForAllThatSeeTheSameProcesses(t *testing.T) {
	c := config(Standard)
	facts := fleet(c)
	id := c.NewFleetID(facts)
	if len(id) != 20 || len(id) > maxValue {
		t.Errorf("the id is %q", id)
	}
	slices.Reverse(facts)
	if again := c.NewFleetID(facts); again != id {
		t.Errorf("in another order %q, before %q", again, id)
	}
	seen := map[string]string{id: "as it is"}
	for name, change := range map[string]func(c *Config, f []Facts){
		"a process":  func(_ *Config, f []Facts) { f[0].Info.RunID = "another" },
		"one less":   func(_ *Config, f []Facts) { f[0].Connected = false },
		"a database": func(_ *Config, f []Facts) { f[0].DB = 1 },
		"MaxTTL":     func(c *Config, _ []Facts) { c.MaxTTL *= 2 },
		"level":      func(c *Config, _ []Facts) { c.Level = Strict },
		"number":     func(c *Config, _ []Facts) { c.Masters = 7 },
	} {
		c, facts := config(Standard), fleet(config(Standard))
		change(&c, facts)
		other := c.NewFleetID(facts)
		if seen[other] != "" {
			t.Errorf("with another %s the id is that of %s", name, seen[other])
		}
		seen[other] = name
	}
	for i := range facts {
		facts[i].Connected = false
	}
	if id := c.NewFleetID(facts); id != "" {
		t.Errorf("of nobody the id is %q", id)
	}
}

func TestAFleetHasAnIDWhenAQuorumHasIt(t *testing.T) {
	c := config(Standard)
	for ids, want := range map[[5]string]string{
		{"a", "a", "a", "b", "b"}: "a", {"b", "a", "b", "a", "b"}: "b", {"a", "a", "b", "b", ""}: "", {"", "", "", "a", "a"}: "",
		{"a", "", "a", "", "a"}: "a", {}: "",
	} {
		facts := fleet(c)
		for i, id := range ids {
			facts[i].Marker.Fleet = id
		}
		if id, settled := c.FleetID(facts); id != want || settled != (want != "") {
			t.Errorf("%q: %q, %v; want %q", ids, id, settled, want)
		}
		absent(&facts[0])
		if id, _ := c.FleetID(facts); id != "" && id != want {
			t.Errorf("%q without the first: %q, want %q or none", ids, id, want)
		}
	}
}
