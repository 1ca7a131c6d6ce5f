package container

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/witness"
)

// Label is what every container and network of ours carries, with the name of
// the run that it belongs to.
const Label = "io.redquorum.demo"

func label(run string) string { return Label + "=" + run }

const (
	sweepBound = 9 * time.Second // all of it
	sweepEvery = 200 * time.Millisecond
	lateBound  = time.Minute // for whom nobody waits
)

// sweep removes the containers of a run, running or not, and then its network,
// until ctx ends. The engine may still be busy with some of them: it is asked
// again.
func (e *Engine) sweep(ctx context.Context, run string) error {
	var err error
	for ctx.Err() == nil {
		var left bool
		if left, err = e.sweepOnce(ctx, run); !left && err == nil {
			return nil
		}
		t := time.NewTimer(sweepEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
	return errors.Join(errors.New("the containers of this run could not be removed: docker rm -f -v $(docker ps -aq --filter label="+label(run)+") does so"), err)
}

// sweepOnce says whether anything was there.
func (e *Engine) sweepOnce(ctx context.Context, run string) (left bool, err error) {
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "--all", "--quiet"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"network", "ls", "--quiet"}, []string{"network", "rm"}},
	} {
		said, err := e.run(ctx, commandBound, append(kind.list, "--filter", "label="+label(run))...)
		if err != nil {
			return left, err
		}
		ids := strings.Fields(said)
		if len(ids) == 0 {
			continue
		}
		left = true
		if _, err := e.run(ctx, commandBound, append(kind.remove, ids...)...); err != nil && !gone(err) {
			return left, err
		}
	}
	return left, nil
}

// gone says whether docker failed to remove something because it is not there,
// or will soon not be.
func gone(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "no such container") || strings.Contains(text, "not found") || strings.Contains(text, "is already in progress")
}

// settled is how long after the last look the engine may still bring to light
// what it was told before.
const settled = 2 * time.Second

// Sweep is the whole of the process that removes what a run has left whose
// process could not. It waits for that one to end.
func Sweep(run string) error {
	if dismissed, err := witness.Await(); dismissed || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateBound)
	defer cancel()
	e, err := find()
	if err != nil {
		return err
	}
	if err := e.sweep(ctx, run); err != nil {
		return err
	}
	time.Sleep(settled) // a command of the process that is gone may still have been under way
	return e.sweep(ctx, run)
}
