package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
)

// nothingLeft checks that the lock's key is gone from every master in reach. It waits at most until
// the key has expired. Normally it need not: releases are sent, also to masters that come back.
func (r *run) nothingLeft(ctx context.Context) error {
	r.closeClients()
	looker, err := r.openClient("observer")
	if err != nil {
		return err
	}
	defer func() { _ = looker.Close() }() // it fails only for a Client that Open did not make
	var found []string
	var reached int
	var free bool
	r.Screen.during(func() string { return "looking for what is left on the masters" }, func() {
		free = r.await(ctx, r.TTL+time.Second, func() bool {
			found, reached = r.leftOn(ctx, looker)
			return len(found) == 0
		})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	detail := fmt.Sprintf("the key is gone from the %s in reach", count(reached, "master"))
	if !free {
		detail = strings.Join(found, "; ")
	}
	r.result.expect("nothing is left behind", free, detail)
	return nil
}

// leftOn returns the masters on which the key is or may be, and how many can be reached.
func (r *run) leftOn(ctx context.Context, looker Client) (found []string, reached int) {
	in, err := looker.Inspect(ctx, r.key)
	if err != nil {
		return []string{err.Error()}, 0
	}
	for i, m := range in.Masters {
		if !r.result.Masters[i].reached() {
			continue
		}
		reached++
		if m.Held != nil {
			found = append(found, m.Master+": "+brief(m.Held.Error()))
		} else if m.Err != nil {
			found = append(found, m.Master+": "+brief(explain.Short(m.Err)))
		}
	}
	return found, reached
}
