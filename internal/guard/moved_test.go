package guard

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAMarkerIsClosedWhereItIsTheOneThatWasSeen(t *testing.T) {
	type row struct {
		seen    string
		changes []string
		want    Verdict
		since   string // afterwards; "": as before
		force   bool
	}
	onEachCase(t, map[string]row{
		"open":                 {"f1", nil, Closed, "1001", false},
		"declared":             {"f1", []string{"since", "0"}, Closed, "1", false},
		"closed already":       {"f1", []string{"to", "f2", "closed", "5"}, Same, "", false},
		"closed to another":    {"f1", []string{"to", "f3", "closed", "5"}, Same, "", false},
		"to another, by force": {"f1", []string{"to", "f3", "closed", "5"}, Closed, "1001", true},
		"forgotten":            {"", nil, Present, "", false},
		"of no name":           {"", []string{"fleet", "-"}, Closed, "1001", false},
		"another fleet":        {"f0", nil, Present, "", false},
		"of another process":   {"f1", []string{"run", "another"}, Present, "", false},
		"of another history":   {"f1", []string{"replid", "another"}, Present, "", false},
		"another database":     {"f1", []string{"db", "1"}, Present, "", false},
		"version 1":            {"", version1, Present, "", false},
		"since in no past":     {"f1", []string{"since", "999999999999999"}, Present, "", false},
		"since is no time":     {"f1", []string{"since", "x"}, Present, "", false},
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		want := m.put(c, test.changes...)
		if test.seen == "" && test.changes == nil {
			m.do("DEL", Key)
			want = nil
		}
		before := m.check()
		then := m.time()
		got := m.script(Fleet, c.CloseArgs(m.now(), test.seen, "f2", test.force))
		wantVerdict(t, got, test.want)
		if test.want == Closed {
			want["since"], want["to"], want["closed"] = test.since, "f2", got.Closed
			at, ok := instant(got.Closed)
			if now := m.time(); !ok || at.Before(then.Add(-time.Millisecond)) || at.After(now) {
				t.Errorf("closed at %v, between %v and %v", at, then, now)
			}
			if after := m.check(); after == before {
				t.Errorf("the check behind each flush does not see it: %q", after)
			}
		}
		m.holds(want)
		if test.want == Closed {
			// It stands there through restarts, and is told at every look.
			if again := m.dial(c); again.To != "f2" || again.Verdict != Same {
				t.Errorf("a look answers %+v", again)
			}
			m.do("HSET", Key, "run", "another")
			if again := m.dial(c); again.To != "f2" || again.Closed != got.Closed || again.Verdict != Restarted {
				t.Errorf("restarted, it answers %+v", again)
			}
			opened := m.initialize(c, m.now(), true, false)
			if opened.To != "" || opened.Verdict != Forced {
				t.Errorf("forced, it answers %+v", opened)
			}
		}
	})
}

// closed makes a master say that its fleet is moved to a name.
func (f *Facts) close(to string) {
	m := f.Marker
	m.To, m.Closed = to, itoa(m.Clock.Time.UnixMilli())
	f.Answer(m)
}

// One such answer counts for all masters, whatever these say.
func TestOneMasterThatIsClosedTakesTheVoteFromAll(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f []Facts)
		want   []Cause // of each
	}{
		"none":        {func([]Facts) {}, []Cause{0, 0, 0, 0, 0}},
		"one":         {func(f []Facts) { f[3].close("f2") }, []Cause{Moved, Moved, Moved, Moved, Moved}},
		"all":         {func(f []Facts) { closeAllOf(f) }, []Cause{Moved, Moved, Moved, Moved, Moved}},
		"it is gone":  {func(f []Facts) { f[3].close("f2"); f[3].Connected = false }, []Cause{Moved, Moved, Moved, NotConnected, Moved}},
		"it is empty": {func(f []Facts) { f[3].close("f2"); f[3].Answer(missingAt(time.Second)) }, []Cause{Moved, Moved, Moved, Moved, Moved}},
		"another is empty": {func(f []Facts) {
			f[3].close("f2")
			f[0].Answer(missingAt(time.Second))
		}, []Cause{Moved, Moved, Moved, Moved, Moved}},
		"another is young": {func(f []Facts) {
			f[3].close("f2")
			f[0].restarted(Restarted)
		}, []Cause{Moved, Moved, Moved, Moved, Moved}},
		"others are a replica and of another fleet": {func(f []Facts) {
			f[3].close("f2")
			f[0].Info.Role = "slave"
			f[1].Marker.Verdict = Conflict
		}, []Cause{NotMaster, OtherFleet, Moved, Moved, Moved}},
		"opened again by force": {func(f []Facts) {
			closeAllOf(f)
			for i := range f {
				m := f[i].Marker
				m.To, m.Closed, m.How = "", "", HowForced
				f[i].Answer(m)
			}
		}, []Cause{0, 0, 0, 0, 0}},
	} {
		for _, level := range []Level{Standard, Strict} {
			c := config(level)
			facts := fleet(c)
			test.change(facts)
			for i, s := range c.Standings(facts, at(time.Second)) {
				var got Cause
				if s.Why != nil {
					got = s.Why.Cause
				}
				if got != test.want[i] || s.Vote != (got == 0) {
					t.Errorf("%s, %v: master %d %v, want cause %v", name, level, i, s, test.want[i])
				}
				if got == Moved && !strings.Contains(s.String(), "this fleet is being moved to f2, see ") {
					t.Errorf("it %v", s)
				}
			}
			// Who takes part in this move, and maybe in others, sees nothing of it.
			for i, s := range c.JoinMove("f3").JoinMove("f2").Standings(facts, at(time.Second)) {
				if s.Why != nil && s.Why.Cause == Moved {
					t.Errorf("%s, %v: master %d %v for who takes part", name, level, i, s)
				}
			}
			for _, other := range []string{"f", "f22", "f3", "2"} {
				if s := c.JoinMove(other).Standings(facts, at(time.Second))[4]; s.Vote != (test.want[4] == 0) {
					t.Errorf("%s, %v: for who takes part in %s master 4 %v", name, level, other, s)
				}
			}
		}
	}
}

func closeAllOf(f []Facts) {
	for i := range f {
		f[i].close("f2")
	}
}

func TestPlanOfAFleetThatIsBeingMoved(t *testing.T) {
	empty := func(f *Facts) { f.Answer(missingAt(time.Second)) }
	for name, test := range map[string]struct {
		change     func(f []Facts)
		stranger   Plan // of who takes no part
		takingPart Plan
	}{
		"all say so":               {closeAllOf, Plan{}, Plan{}},
		"one does not":             {func(f []Facts) { closeAllOf(f[:4]) }, Plan{ToClose, []int{4}, "f2"}, Plan{ToClose, []int{4}, "f2"}},
		"one says so":              {func(f []Facts) { closeAllOf(f[:1]) }, Plan{ToClose, []int{1, 2, 3, 4}, "f2"}, Plan{ToClose, []int{1, 2, 3, 4}, "f2"}},
		"one is away":              {func(f []Facts) { closeAllOf(f[:4]); absent(&f[4]) }, Plan{}, Plan{}},
		"one is empty":             {func(f []Facts) { closeAllOf(f[:4]); empty(&f[4]) }, Plan{}, Plan{ToAdopt, []int{4}, "f1"}},
		"one that said so, empty":  {func(f []Facts) { closeAllOf(f); empty(&f[4]) }, Plan{}, Plan{ToAdopt, []int{4}, "f1"}},
		"all that said so, empty":  {func(f []Facts) { closeAllOf(f); emptyAll(f) }, Plan{}, Plan{ToAdopt, []int{0, 1, 2, 3, 4}, ""}},
		"one is of another fleet":  {func(f []Facts) { closeAllOf(f[:4]); f[4].Marker.Fleet = "f9" }, Plan{}, Plan{}},
		"one has been forced open": {func(f []Facts) { closeAllOf(f[:4]); f[4].Marker.How = HowForced }, Plan{}, Plan{}},
		"to two names":             {func(f []Facts) { closeAllOf(f[:3]); f[3].close("f3") }, Plan{}, Plan{}},
		"one was adopted, unnamed": {func(f []Facts) {
			closeAllOf(f[:4])
			f[4].Marker.Fleet, f[4].Marker.How = "", HowAdopted
		}, Plan{}, Plan{ToName, []int{4}, "f1"}},
	} {
		c := config(Standard)
		for who, of := range map[string]struct {
			c    Config
			want Plan
		}{"a stranger": {c, test.stranger}, "who takes part": {c.JoinMove("f2").JoinMove("f3"), test.takingPart}} {
			facts := fleet(c)
			test.change(facts)
			got := of.c.Plan(facts, at(time.Minute))
			if got.Step != of.want.Step || got.Fleet != of.want.Fleet || !slices.Equal(got.Masters, of.want.Masters) {
				t.Errorf("%s, %s: %+v, want %+v", name, who, got, of.want)
			}
		}
	}
}

func emptyAll(f []Facts) {
	for i := range f {
		f[i].Answer(missingAt(time.Second))
	}
}

func TestTheNamesOfMoves(t *testing.T) {
	for name, good := range map[string]bool{
		"f2": true, "shards-2026": true, strings.Repeat("x", 64): true, "": false, strings.Repeat("x", 65): false, "a b": false, "a\n": false, "a\x7f": false,
	} {
		if err := CheckMove(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	if c := config(Standard); c.takesPart("") && c.movedTo(fleet(c)) != "" {
		t.Error("who names no move takes part in one")
	}
}

func TestClosingIsDoneWhenTheOpenMastersAreNoQuorumAndAQuarantineHasPassed(t *testing.T) {
	c := config(Standard)
	q := c.Quarantine()
	for name, test := range map[string]struct {
		ages   []time.Duration // since when each says so; negative: it does not
		closed int
		done   bool
		left   time.Duration
	}{
		"none":                    {[]time.Duration{-1, -1, -1, -1, -1}, 0, false, 0},
		"two of five":             {[]time.Duration{0, 0, -1, -1, -1}, 2, false, 0},
		"three of five, just now": {[]time.Duration{0, 0, 0, -1, -1}, 3, true, q},
		"by the third":            {[]time.Duration{20 * time.Second, 10 * time.Second, 30 * time.Second, -1, 0}, 4, true, q - 10*time.Second},
		"long ago":                {[]time.Duration{q, 2 * q, 3 * q, 0, 0}, 5, true, 0},
	} {
		facts := fleet(c)
		for i, age := range test.ages {
			if age >= 0 {
				facts[i].close("f2")
				facts[i].Marker.Closed = itoa(facts[i].Marker.Clock.Time.Add(-age).UnixMilli())
			}
		}
		got := c.ClosingTo(facts, "f2", at(0))
		if len(got.Closed) != test.closed || got.Done != test.done || (got.Left-test.left).Abs() > time.Millisecond {
			t.Errorf("%s: %+v, want %+v", name, got, test)
		}
		if other := c.ClosingTo(facts, "f3", at(0)); other.Done || other.Closed != nil {
			t.Errorf("%s: to another: %+v", name, other)
		}
		if test.done && test.left > 5*time.Second {
			if later := c.ClosingTo(facts, "f2", at(5*time.Second)); (later.Left - (test.left - 5*time.Second)).Abs() > time.Millisecond {
				t.Errorf("%s: 5s later %v", name, later.Left)
			}
		}
	}
}

// One master that names another move keeps a closing from being done, however many name it.
func TestAClosingIsNotDoneWhereAMasterNamesAnotherMove(t *testing.T) {
	c := config(Standard)
	facts := fleet(c)
	closeAllOf(facts)
	facts[3].close("f3")
	if got := c.ClosingTo(facts, "f2", at(0)); got.Done || got.Elsewhere != "f3" || len(got.Closed) != 4 {
		t.Errorf("%+v", got)
	}
	facts[3].Connected = false // it does not answer: what it said last is not known to be so still
	if got := c.ClosingTo(facts, "f2", at(0)); !got.Done || got.Elsewhere != "" {
		t.Errorf("one is away: %+v", got)
	}
}
