package demo

import (
	"context"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

func TestASceneInWhichTheGuardLetsTwoInFails(t *testing.T) {
	t.Parallel()
	m := masters(t, ownMasters)
	o := fast()
	o.Cluster, o.client = m.Cluster, nil
	o.open = func(urls []string, opts ...redlock.Option) (Client, error) { // the last option of a kind wins
		return open(urls, append(opts, redlock.WithGuard(redlock.GuardOff))...)
	}
	r, err := newRun(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.closeClients()
	ctx, cancel := context.WithTimeout(t.Context(), defaultRecovery*2)
	defer cancel()
	if err := r.awaitQuorum(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.sameFault(ctx); err != nil {
		t.Fatal(err)
	}
	if len(r.result.Expectations) != 2 || !r.result.Expectations[0].OK || r.result.Expectations[1].OK || !strings.Contains(r.result.Expectations[1].Detail, "granted twice") {
		t.Errorf("%+v", r.result.Expectations)
	}
}
