package release

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/pool"
)

func TestWhenAReleasedLockIsFreeForOthers(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, test := range []struct {
		masters int
		left    []time.Duration
		want    time.Duration
	}{
		{5, []time.Duration{5 * s, 1 * s, 4 * s, 2 * s, 3 * s}, 3 * s}, // three are free then
		{5, []time.Duration{3 * s, 2 * s, 4 * s}, 2 * s},
		{4, []time.Duration{1 * s, 2 * s, 3 * s, 4 * s}, 3 * s},
	} {
		if got := freeIn(test.left, test.masters); got != test.want {
			t.Errorf("%d masters, %v: %v, want %v", test.masters, test.left, got, test.want)
		}
	}
}

// Advice to try again would be useless: masters that refuse do so again.
func TestAReleaseThatMastersRefuseSaysSo(t *testing.T) {
	t.Parallel()
	oom := redis.Error("OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:9.")
	denied := redis.Error("NOPERM this user has no permissions to run the 'eval' command")
	for name, test := range map[string]struct {
		errs []error
		want string
	}{
		"silent": {[]error{pool.ErrTimeout, testutil.ErrRefused, nil}, "too few masters answered: replaced on 1 of 3 masters, 2 needed. Its holder may go on: try again"},
		"both":   {[]error{oom, testutil.ErrRefused, nil}, "1 master refused: replaced on 1 of 3 masters, 2 needed. Its holder may go on. Raise maxmemory on m1, or make room there: locks need little."},
		"denied": {[]error{denied, denied, denied}, "3 masters refused: replaced on 0 of 3 masters, 2 needed. Its holder may go on."},
	} {
		results := make([]Result, len(test.errs))
		for i, err := range test.errs {
			results[i] = Result{Master: "m" + string(rune('1'+i)), State: Replaced, Left: time.Second}
			if err != nil {
				results[i].fail(err)
			}
		}
		r := &releasing{}
		err := r.conclude(results, 2)
		if err == nil || err.Error() != test.want || app.ExitCode(err) != app.ExitNoQuorum || r.report.Outcome != app.OutcomeNoQuorum {
			t.Errorf("%s: %v, want %s; exit code %d, %+v", name, err, test.want, app.ExitCode(err), r.report)
		}
	}
}
