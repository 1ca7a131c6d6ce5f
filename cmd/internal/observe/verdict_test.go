package observe_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/looktest"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
)

// clock returns the instant d after now, as the verdict prints it.
func clock(d time.Duration) string {
	return time.Unix(0, looktest.JudgedAt().Wall().Add(d).UnixNano()).Format(time.TimeOnly)
}

// lost makes a master one whose marker has been missing for as long as seen.
func lost(f *guard.Facts, seen time.Duration) {
	f.Marker = guard.Marker{Verdict: guard.Missing, Sighted: seen, Clock: looktest.Reading()}
}

// forgot makes the marker say that the master remembers only since then.
func forgot(f *guard.Facts, ago time.Duration, how string) {
	f.Marker.Since, f.Marker.Wall, f.Marker.How = looktest.Millis(-ago), looktest.Millis(-ago), how
}

// unseen makes a master one that may have forgotten locks, which no client knows yet.
func unseen(verdict guard.Verdict, how string) func(f *guard.Facts) {
	return func(f *guard.Facts) {
		forgot(f, 0, how)
		f.Marker.Verdict = verdict
	}
}

func each(f []guard.Facts, change func(f *guard.Facts)) {
	for i := range f {
		change(&f[i])
	}
}

func strict(f *guard.Facts) { f.Marker.LevelIs = "strict" }

// fleet returns good masters.
func fleet(n int) (all []guard.Facts) {
	for i := range n {
		all = append(all, looktest.Voter(fmt.Sprintf("10.0.0.%d:6379", i+1)))
	}
	return all
}

func TestTheVerdictSaysWhetherALockCanBeTaken(t *testing.T) {
	t.Parallel()
	down := func(f *guard.Facts) { *f = looktest.Away(f.Master) }
	for _, test := range []struct {
		name   string
		change func(f []guard.Facts)
		want   string
		help   string // one a line
	}{
		{"two away", func(f []guard.Facts) { each(f[3:], down) }, "YES. 3 of 5 masters vote, 3 needed.", ""},
		{
			"one votes and needs two more", func(f []guard.Facts) {
				for i := range f[1:] {
					forgot(&f[1+i], time.Duration(i)*10*time.Second, guard.HowRestarted)
				}
			},
			"NO. 1 of 5 masters vote, 3 needed; 3 votes at " + clock(41*time.Second) + " (in 41 s)", "",
		},
		{
			"a quarantine does not help where two are away", func(f []guard.Facts) {
				each(f[:1], func(f *guard.Facts) { forgot(f, 0, guard.HowRestarted) })
				each(f[1:4], down)
			},
			"NO. 1 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Start 10.0.0.2:6379, 10.0.0.3:6379, 10.0.0.4:6379, or mend the network to it.",
		},
		{
			"restarted or resynchronised, and nobody has seen it", func(f []guard.Facts) {
				each(f[2:4], unseen(guard.Restarted, guard.HowRestarted))
				unseen(guard.Restarted, guard.HowResynced)(&f[4])
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Run a client, redlock exec for one: the quarantine of 10.0.0.3:6379, 10.0.0.4:6379, 10.0.0.5:6379 begins when one sees it.",
		},
		{
			"emptied and sighted long ago", func(f []guard.Facts) { each(f[2:], func(f *guard.Facts) { lost(f, 2*time.Minute) }) },
			"YES. 5 of 5 masters vote, 3 needed.", "",
		},
		{
			"emptied, strict", func(f []guard.Facts) {
				each(f, strict)
				each(f[3:], func(f *guard.Facts) { lost(f, 0) })
				down(&f[0])
			},
			"NO. 2 of 5 masters vote, 3 needed; 3 votes at " + clock(62*time.Second) + " (in 62 s)", "",
		},
		{
			"a new fleet", func(f []guard.Facts) { each(f, func(f *guard.Facts) { lost(f, 0) }) },
			"YES. The fleet is new: the first client declares it, then 5 of 5 masters vote, 3 needed.", "",
		},
		{
			"a new fleet with one away", func(f []guard.Facts) {
				each(f, func(f *guard.Facts) { lost(f, 0) })
				down(&f[4])
			},
			"NO. 0 of 5 masters vote, 3 needed; 3 votes at " + clock(61*time.Second) + " (in 61 s)",
			"If the whole fleet is new, start 10.0.0.5:6379 and declare it, and it votes at once: redlock init",
		},
		{
			"emptied, as somebody knows of one master", func(f []guard.Facts) {
				each(f, func(f *guard.Facts) { lost(f, 30*time.Second) })
				f[1].Marker.Known = true
			},
			"NO. 0 of 5 masters vote, 3 needed; 3 votes at " + clock(31*time.Second) + " (in 31 s)", "",
		},
		{
			"a new fleet that was adopted", func(f []guard.Facts) {
				each(f, func(f *guard.Facts) { forgot(f, 30*time.Second, guard.HowAdopted) })
				each(f[3:], down)
			},
			"NO. 0 of 5 masters vote, 3 needed; 3 votes at " + clock(31*time.Second) + " (in 31 s)",
			"If the whole fleet is new, start 10.0.0.4:6379, 10.0.0.5:6379 and declare it, and it votes at once: redlock init",
		},
		{
			"another fleet, beside which none is adopted", func(f []guard.Facts) {
				f[1].Marker.Masters = "3"
				each(f[3:], func(f *guard.Facts) { lost(f, 2*time.Minute) })
			},
			"NO. 2 of 5 masters vote, 3 needed; waiting alone does not help.",
			"Use the list and the settings of the fleet of 10.0.0.2:6379, as its other clients do. Only where no client is running: redlock init --force.",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := fleet(5)
			test.change(facts)
			v := looktest.Look(facts...).Verdict()
			if got, want := v.String(), "Can lock: "+test.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if got := strings.Join(v.Help, "\n"); got != test.help {
				t.Errorf("%q, want %q", got, test.help)
			}
			if v.CanLock != strings.HasPrefix(test.want, "YES") || (v.At != nil) != strings.Contains(test.want, " at ") {
				t.Errorf("%+v", v)
			}
			for i := range facts {
				if votes, why := v.On(i); votes == (why != "") {
					t.Errorf("master %d: %v, %q", i+1, votes, why)
				}
			}
		})
	}
}

func TestAMasterThatTakesNoWriteDoesNotCount(t *testing.T) {
	t.Parallel()
	refuse := func(facts []guard.Facts) *observe.Look {
		l := looktest.Look(facts...)
		l.Refuses[2] = &explain.WriteError{Err: redis.Error("OOM command not allowed")}
		l.Refuses[3] = &explain.WriteError{Err: pool.ErrTimeout}
		l.Refuses[4] = &guard.AbstainError{Cause: guard.Forbidden, Value: "+set"}
		return l
	}
	help := "Raise maxmemory on 10.0.0.3:6379, or make room there: locks need little.\nCLIENT UNPAUSE on 10.0.0.4:6379: masters do not say when the pause ends by itself.\n" +
		"Permit what locks need on 10.0.0.5:6379: redlock doctor prints the ACL lines."
	v := refuse(fleet(5)).Verdict()
	if got := strings.Join(v.Help, "\n"); v.CanLock || v.Votes != 2 || v.At != nil || got != help {
		t.Errorf("%+v, %q", v, got)
	}
	empty := fleet(5)
	each(empty, func(f *guard.Facts) { lost(f, 0) })
	if v := refuse(empty).Verdict(); v.CanLock || v.New || strings.Join(v.Help, "\n") != help {
		t.Errorf("a new fleet: %+v", v)
	}
	l := looktest.Look(empty...)
	l.Refuses[0] = &explain.WriteError{Err: redis.Error("OOM command not allowed")}
	if v := l.Verdict(); !v.CanLock || !v.New || !strings.Contains(v.String(), "then 4 of 5 masters vote") {
		t.Errorf("a new fleet with one that is full: %+v, %s", v, v)
	}
}

func TestTheVerdictIsThatOfTheClientsSettings(t *testing.T) {
	t.Parallel()
	if v := looktest.LookAs(30*time.Second, 0, fleet(5)...).Verdict(); v.CanLock {
		t.Errorf("%+v, though the longest TTL is another", v)
	}
	facts := fleet(5)
	each(facts, func(f *guard.Facts) { lost(f, 0) })
	facts[0] = looktest.Away(facts[0].Master)
	if v := looktest.LookAs(10*time.Second, 0, facts...).Verdict(); v.CanLock || v.InMS != 10202 {
		t.Errorf("%+v, want the quarantine of 10 s", v)
	}
	facts = fleet(5)
	each(facts, strict)
	each(facts, func(f *guard.Facts) { f.Marker.MaxTTL = "30000" })
	const ofMarkers = "Can lock: YES. 5 of 5 masters vote, 3 needed."
	if v := looktest.Look(facts...).Verdict(); v.String() != ofMarkers {
		t.Errorf("%s, want %s", v, ofMarkers)
	}
	facts = fleet(5)
	each(facts[2:], func(f *guard.Facts) { forgot(f, 61*time.Second, guard.HowRestarted) })
	if v := looktest.LookAs(0, 10*time.Second, facts...).Verdict(); v.CanLock {
		t.Errorf("%+v, though clocks of clients may differ by 10 s", v)
	}
}
