package demo

import (
	"context"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/redlock"
)

// A guard that lets the second one in fails the scene.
func TestASceneInWhichTheGuardLetsTwoInFails(t *testing.T) {
	t.Parallel()
	m := masters(t, stage.Masters)
	o := fast()
	o.setDefaults()
	o.Masters.Cluster, o.Masters.Client = m.Cluster, nil
	o.Masters.Open = func(urls []string, opts ...redlock.Option) (stage.Client, error) { // the last one counts
		return stage.Open(urls, append(opts, redlock.WithGuard(redlock.GuardOff))...)
	}
	s, err := stage.New(o.Masters, "demo:scene:", "seller-1", "seller-2")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &run{Options: o, Stage: s, total: stage.Masters}
	r.ready = s.ReadyBound()
	r.result = &Result{}
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
