package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
)

// take sees to it that at least want masters are gone: it kills its own, and asks for those of others. It returns how
// many are gone, and since when.
func (o *outage) take(ctx context.Context, want int) (gone int, since time.Time, err error) {
	if !o.Own() {
		request := "Now stop another one"
		if want == 1 {
			request = "Now stop a master, for example: docker stop …, systemctl stop redis"
		}
		err := o.ask(ctx, request, "a master to go away", func() bool { return o.gone() >= want })
		return o.gone(), time.Now(), err
	}
	for ; o.killed < want; o.killed++ {
		o.Screen.line("   %s master %d is killed", o.Screen.Bold("→"), o.killed+1)
		if _, err := o.Do(ctx, stage.Fault{Action: stage.Kill}, o.killed); err != nil {
			return 0, time.Time{}, fmt.Errorf("killing master %d: %w", o.killed+1, err)
		}
	}
	since = time.Now()
	o.await(ctx, settleBound, func() bool { return o.mostGone() >= want && o.gone() >= want })
	return want, since, ctx.Err()
}

// back sees to it that there is a quorum again. It returns since when that is to be expected, and what happened then.
func (o *outage) back(ctx context.Context) (since time.Time, returned string, err error) {
	if !o.Own() {
		err := o.ask(ctx, "Now start one of them again, with its data, for example: docker start …",
			"a quorum to be back", func() bool { return o.gone() <= o.tolerated() })
		return time.Now(), "seen again", err
	}
	o.Screen.line("   %s master 1 is started again", o.Screen.Bold("→"))
	since = time.Now()
	if _, err := o.Do(ctx, stage.Fault{Action: stage.Restart}, 0); err != nil {
		return time.Time{}, "", fmt.Errorf("restarting master 1: %w", err)
	}
	return since, "started", nil
}

// ask puts a request to the person, and waits for what is to happen, for as long as patience, or until Skip. Where there
// is no live line to say so, the request says how long that is.
func (o *outage) ask(ctx context.Context, request, what string, met func() bool) error {
	if !o.Screen.live {
		request += fmt.Sprintf(" (within %.0f s, Ctrl-C skips)", o.patience.Seconds())
	}
	o.Screen.paragraph("   "+o.Screen.Bold("→")+" ", 5, request)
	began := time.Now()
	stop := o.Screen.follow(func() string {
		left := max(0, o.patience-time.Since(began))
		return fmt.Sprintf("waiting up to %.0f s for %s · Ctrl-C skips", left.Seconds(), what)
	})
	defer stop()
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for !met() {
		select {
		case <-t.C:
			if time.Since(began) >= o.patience {
				return &skippedError{fmt.Sprintf("no change of the masters within %v", o.patience)}
			}
		case <-o.Skip:
			return &skippedError{"by Ctrl-C"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
