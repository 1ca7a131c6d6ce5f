package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
)

// recovers has one master brought back and waits until it sells again.
func (o *outage) recovers(ctx context.Context) error {
	since, err := o.hand.back(ctx)
	if err != nil {
		return err
	}
	stop := o.Screen.follow(func() string {
		return fmt.Sprintf("no sale yet · %s", span(time.Since(since)))
	})
	defer stop()
	var first time.Time
	ok := o.await(ctx, o.recovery, func() (ok bool) {
		first, ok = o.shop.ledger.firstAfter(since)
		return ok
	})
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The client that sold may not be the first one, whose view is shown.
	o.await(ctx, settleBound, func() bool { return o.mostGone() <= o.tolerated() })
	o.Screen.strip(o.run.masters(), o.quorum)
	const name = "one back"
	if !ok {
		o.phase(name, true, o.total-o.gone(), window{from: since, to: time.Now()}, o.shop)
		detail := fmt.Sprintf("no sale within %v of a master's return", o.recovery)
		o.outcome(false, "it does not recover: %s", detail)
		o.result.expect("one back, it recovers", false, detail)
		return nil
	}
	stop = o.Screen.follow(func() string {
		f := o.shop.ledger.in(window{from: since, to: time.Now()})
		return fmt.Sprintf("sold %d · refused %d · %s", f.sales, f.refused, span(time.Since(since)))
	})
	defer stop()
	if err := sleep.For(ctx, o.Watch); err != nil {
		return err
	}
	stop()
	p := o.phase(name, true, o.total-o.gone(), window{from: since, to: time.Now()}, o.shop)
	took := Millis(first.Sub(since))
	p.Recovery = &took
	detail := fmt.Sprintf("first sale %s after it was %s", span(took.duration()), o.hand.returned())
	o.outcome(true, "it recovers by itself: %s", detail)
	o.result.expect("one back, it recovers", true, detail)
	return nil
}
