package doctor

import (
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
)

func TestFleetsThatAreOneAreFound(t *testing.T) {
	fact := func(master, run, id string, db int) Facts {
		f := Facts{Master: master, DB: db, Info: map[string]string{"run_id": run}}
		if id != "" {
			f.Marker = &guard.Stored{Type: "hash", Fields: guard.Fields{Fleet: id}}
		}
		return f
	}
	a := []Facts{fact("a1", "r1", "A", 0), fact("a2", "r2", "A", 0)}
	for name, test := range map[string]struct {
		b    []Facts
		want []string // masters of the findings, one a finding
	}{
		"apart":                {[]Facts{fact("b1", "r3", "B", 0), {Master: "b2"}}, nil},
		"another database":     {[]Facts{fact("b1", "r1", "B", 1)}, nil},
		"a server":             {[]Facts{fact("b1", "r3", "B", 0), fact("b2", "r2", "B", 0)}, []string{"b2"}},
		"an id":                {[]Facts{fact("b1", "r3", "A", 0), fact("b2", "r4", "A", 0)}, []string{""}},
		"no server, no marker": {[]Facts{{Master: "b1"}, {Master: "b2", Marker: &guard.Stored{Type: "none"}}}, nil},
	} {
		var got []string
		for _, f := range JudgeApart([]string{"a", "b"}, [][]Facts{a, test.b}) {
			if f.Code != "shared" || f.Severity != Serious || f.What == "" || f.Why == "" || f.Do == "" {
				t.Errorf("%s: %+v", name, f)
			}
			got = append(got, append(f.Masters, "")[0])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestTheWorstVerdictIsTheOneThatLastsLongest(t *testing.T) {
	at := time.Unix(1, 0)
	all := map[string]*Verdict{
		"two spare":  {CanLock: true, Votes: 5, Quorum: 3},
		"none spare": {CanLock: true, Votes: 2, Quorum: 2},
		"new":        {CanLock: true, New: true, Quorum: 2, seats: make([]seat, 3)},
		"a second":   {Quorum: 2, At: &at, InMS: 1000},
		"a minute":   {Quorum: 2, At: &at, InMS: 60_000},
		"for ever":   {Quorum: 2},
	}
	order := []string{"two spare", "new", "none spare", "a second", "a minute", "for ever"}
	for i := range order {
		for j := range order {
			if got, want := WorstVerdict([]*Verdict{all[order[i]], all[order[j]]}), 0; j > i && got != 1 || j <= i && got != want {
				t.Errorf("of %q and %q the worst is number %d", order[i], order[j], got)
			}
		}
	}
}
