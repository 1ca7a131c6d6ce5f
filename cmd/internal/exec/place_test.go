package exec

import (
	"testing"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestWhetherAQuorumIsConnectedIsDecidedByAsFewMastersAsItTakes(t *testing.T) {
	t.Parallel()
	up := redlock.MasterReport{Connected: true}
	gone, unknown := redlock.MasterReport{Err: pool.ErrDown}, redlock.MasterReport{Err: pipeline.ErrConnecting}
	for _, test := range []struct {
		name    string
		masters []redlock.MasterReport
		want    bool
	}{
		{"a quorum is connected", []redlock.MasterReport{up, up, unknown}, true},
		{"a quorum may be", []redlock.MasterReport{up, unknown, gone}, false},
		{"none can be", []redlock.MasterReport{gone, gone, unknown}, true},
		{"nothing is known", []redlock.MasterReport{unknown, unknown, unknown}, false},
	} {
		if got := quorumIsDecided(test.masters); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
