package observe

import (
	"testing"
	"time"
)

func TestTheWorstVerdictIsTheOneThatLastsLongest(t *testing.T) {
	at := time.Unix(1, 0)
	all := map[string]*Verdict{
		"two spare":  {CanLock: true, Votes: 5, Quorum: 3},
		"none spare": {CanLock: true, Votes: 2, Quorum: 2},
		"new":        {CanLock: true, New: true, Quorum: 2, declared: 3},
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
