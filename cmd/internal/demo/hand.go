package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/term"
)

// take makes at least want masters gone. It kills its own. It asks a person to stop those of
// others; then it is enough that one more is gone than the fewest seen meanwhile. It returns how
// many are gone, and since when.
func (o *outage) take(ctx context.Context, want int) (gone int, since time.Time, err error) {
	if !o.own() {
		request, least := "Now stop another one", want-1
		if o.gone() == 0 {
			request = "Now stop a master, for example: docker compose kill …, systemctl stop redis"
		}
		err := o.ask(ctx, request, "a master to go away", func() bool {
			now := o.gone()
			least = min(least, now)
			return now > least
		})
		return o.gone(), time.Now(), err
	}
	for ; o.killed < want; o.killed++ {
		o.Screen.line("   %s master %d is killed", o.Screen.Bold("→"), o.killed+1)
		if err := o.Cluster.Servers[o.killed].Kill(); err != nil {
			return 0, time.Time{}, fmt.Errorf("killing master %d: %w", o.killed+1, err)
		}
	}
	since = time.Now()
	o.await(ctx, settleBound, func() bool { return o.mostGone() >= want && o.gone() >= want })
	return want, since, ctx.Err()
}

// back brings a quorum back: it restarts its own master, or asks a person to start one. It returns
// from when on a sale is expected, and a word for what happened then.
func (o *outage) back(ctx context.Context) (since time.Time, returned string, err error) {
	if !o.own() {
		err := o.ask(ctx, "Now start one again, with its data, for example: docker compose start …",
			"a quorum to be back", func() bool { return o.gone() <= o.tolerated() })
		return time.Now(), "seen again", err
	}
	o.Screen.line("   %s master 1 is started again", o.Screen.Bold("→"))
	since = time.Now()
	if err := o.restart(ctx, 0, true); err != nil {
		return time.Time{}, "", fmt.Errorf("restarting master 1: %w", err)
	}
	return since, "started", nil
}

// ask prints a request to the person and waits until it is met. It gives up on a value from Skip,
// or when no master has changed for patience, which the request names if there is no live line.
func (o *outage) ask(ctx context.Context, request, what string, met func() bool) error {
	if !o.Screen.live {
		request += fmt.Sprintf(" (within %s, Ctrl-C skips)", span(o.patience))
	}
	o.Screen.paragraph("   "+o.Screen.Bold("→")+" ", 5, request)
	began := time.Now()
	left := func() time.Duration {
		if last := o.changes.last(); last.After(began) {
			return o.patience - time.Since(last)
		}
		return o.patience - time.Since(began)
	}
	stop := o.Screen.follow(func() string {
		if first := next(seeAll(o.clients[0])); first != nil {
			return fmt.Sprintf("%s votes at %s · Ctrl-C skips",
				first.master, term.Until(first.why.Until, first.why.Left))
		}
		return fmt.Sprintf("waiting up to %.0f s for %s · Ctrl-C skips", max(0, left().Seconds()), what)
	})
	defer stop()
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for !met() {
		select {
		case <-t.C:
			if left() <= 0 {
				return &skippedError{"no change of the masters within " + span(o.patience)}
			}
		case <-o.Skip:
			return &skippedError{"by Ctrl-C"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// serverBound is how long starting a master of ours may take.
const serverBound = 20 * time.Second

// restart starts a master of ours again.
func (r *run) restart(ctx context.Context, n int, keepData bool) error {
	ctx, cancel := context.WithTimeout(ctx, serverBound)
	defer cancel()
	return r.Cluster.Servers[n].Restart(ctx, keepData)
}
