package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

const (
	// delivery is too much to be sold out while masters come and go.
	delivery = 1 << 30
	// underWay is how long after the loss of the quorum a grant may still arrive. An attempt on
	// stopped masters is decided at once. One on frozen masters may take longer, and then fails.
	underWay = 500 * time.Millisecond
	// mostStages bounds a run in which a person keeps changing the masters.
	mostStages = 20
)

// A skippedError ends the part with the masters without failing it.
type skippedError struct{ why string }

func (e *skippedError) Error() string { return e.why }

// An outage is the sale in one shop while masters come and go.
type outage struct {
	*run
	shop    *shop
	start   int     // masters that were gone from the start
	killed  int     // how many we killed: the first ones
	changes changes // of masters that others run
}

// outages takes masters away during a sale, if the program or a person can stop them.
func (r *run) outages(ctx context.Context) error {
	r.heading("With fewer and fewer masters",
		fmt.Sprintf("After a delivery %d buyers share one lock, and masters go away one by one.", r.Buyers))
	err := r.withFewer(ctx)
	skipped, ok := errors.AsType[*skippedError](err)
	if !ok {
		return err
	}
	r.Screen.paragraph("   "+r.Screen.Dim("–")+" ", 5, "skipped: "+skipped.why)
	r.result.Skipped = append(r.result.Skipped, Skipped{"taking masters away while it sells", skipped.why})
	return nil
}

// withFewer watches the shop until there is no quorum any more, and then until it has recovered.
func (r *run) withFewer(ctx context.Context) error {
	if !r.own() && !r.Person {
		return &skippedError{"the masters are not ours to stop, and there is nobody to ask (no terminal, or --json)"}
	}
	o := &outage{run: r, changes: changes{run: r}, start: r.gone()}
	if !r.own() {
		defer o.changes.follow()()
	}
	o.shop = openShop(ctx, delivery, r.Buyers, r.locks())
	defer o.shop.close()
	err := o.untilRefused(ctx)
	if err == nil {
		err = o.recovers(ctx)
	}
	if err != nil && !errors.As(err, new(*skippedError)) {
		return err
	}
	o.shop.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.audit() // whatever was sold until then
	return err
}

// untilRefused takes masters away and watches, until no quorum is left.
func (o *outage) untilRefused(ctx context.Context) error {
	gone, take := o.start, true
	since := time.Now()
	for range mostStages {
		if take {
			var err error
			if gone, since, err = o.take(ctx, gone+1); err != nil {
				return err
			}
		}
		o.Screen.strip(o.masters(), o.quorum)
		counted, err := o.look(ctx, gone, since)
		if err != nil {
			return err
		}
		if counted && gone > o.tolerated() {
			return nil
		}
		if take = counted; !counted {
			_ = app.Sleep(ctx, underWay) // until all clients have seen it; look checks ctx
			gone, since = o.gone(), time.Now()
			take = gone <= o.start
		}
	}
	return &skippedError{fmt.Sprintf("the masters changed %d times while they were watched", mostStages)}
}

// look watches the shop while gone masters are gone, from since on. If their number changes
// meanwhile, the phase does not count.
func (o *outage) look(ctx context.Context, gone int, since time.Time) (counted bool, err error) {
	refuses := gone > o.tolerated()
	seen := func() window {
		w := window{from: since, to: time.Now()}
		if refuses {
			w.grace = underWay
		}
		return w
	}
	o.Screen.during(func() string { return o.progress(seen()) }, func() {
		_ = app.Sleep(ctx, o.watch) // ctx is checked below
		// On a slow machine, or with slow masters, the first sale or refusal comes later.
		o.await(ctx, o.refusal, func() bool {
			return refuses && o.shop.ledger.in(seen()).last != nil || !refuses && o.sellsSince(since)
		})
	})
	w := seen()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if !o.own() && o.gone() != gone {
		o.Screen.paragraph("   "+o.Screen.Dim("–")+" ", 5, "the masters changed meanwhile: this does not count")
		return false, nil
	}
	p := o.phase(term.Number(gone)+" gone", true, o.total-gone, w, o.shop)
	name := fmt.Sprintf("%s of %s gone, it ", term.Number(gone), term.Number(o.total))
	if refuses {
		o.refuses(name, gone, w, p)
	} else {
		// One sale is enough: how many there are depends on the masters' speed. Some buyers
		// may be refused, because slow masters do not answer in time.
		ok := o.sellsSince(since)
		o.outcome(ok, "it %s: %s; p50 %s, p99 %s",
			should(ok, "goes on", "should go on"), p.sold(), span(p.P50.duration()), span(p.P99.duration()))
		o.result.expect(name+"goes on", ok, p.sold())
	}
	return true, nil
}

func should(ok bool, does, should string) string {
	if ok {
		return does
	}
	return should
}

// progress returns what a window has counted so far.
func (o *outage) progress(w window) string {
	f := o.shop.ledger.in(w)
	return fmt.Sprintf("sold %d · refused %d · %s", f.sales, f.refused, span(time.Since(w.from)))
}

// sellsSince reports whether anything was sold since then, apart from grants that were already
// on their way.
func (o *outage) sellsSince(since time.Time) bool {
	return o.shop.ledger.in(window{from: since, to: time.Now(), grace: underWay}).sales > 0
}

// refuses checks that nothing was sold, and that buyers got the reason.
func (o *outage) refuses(name string, gone int, w window, p *Phase) {
	f := o.shop.ledger.in(w)
	silent := p.Sales == 0 && f.last != nil
	o.outcome(silent, "it %s: %s, none later than %s",
		should(silent, "refuses", "should refuse"), p.sold(), span(f.longest))
	named := 0
	if f.last != nil {
		p.Causes = causes(f.last, o.masters())
		named = explained(p.Causes, o.masters())
		o.Screen.line("     The last buyer was told: no quorum, for %d are needed.", f.last.Need)
		for _, c := range p.Causes {
			text := c.Cause
			switch c.State {
			case stateAgreed:
				text = o.Screen.Green("agreed")
			case stateFailed:
				text = o.Screen.Red(c.Cause)
			}
			width := addressWidth(p.Causes)
			o.Screen.paragraph("       "+term.Padded(c.Address, width)+"  ", 9+width, text)
		}
	}
	o.result.expect(name+"refuses", silent, p.sold())
	o.result.expect("it says why, per master", named >= gone,
		fmt.Sprintf("%d of the %d that are gone have a cause", named, gone))
}

// audit compares all sales of the outage with the stock, and records the expectation.
func (o *outage) audit() {
	b := o.shop.stock.books()
	remark, wrong := o.shop.ledger.remark()
	most := o.shop.referee.mostAtOnce()
	detail := fmt.Sprintf("%d sold, %d out of stock, at most %d at a time", b.sold, delivery-b.stock, most)
	if remark != "" {
		detail += ", " + remark
	}
	ok := b.sold == delivery-b.stock && most <= 1 && !wrong
	o.outcome(ok, "the books: %s", detail)
	o.result.expect("the books balance", ok, detail)
}

// recovers brings one master back and waits for the first sale.
func (o *outage) recovers(ctx context.Context) error {
	since, returned, err := o.back(ctx)
	if err != nil {
		return err
	}
	var first time.Time
	ok := false
	o.Screen.during(func() string { return "no sale yet · " + span(time.Since(since)) }, func() {
		ok = o.await(ctx, o.recovery, func() (ok bool) {
			first, ok = o.shop.ledger.firstAfter(since)
			return ok
		})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The client that sold may not be the first one, whose view is shown.
	o.await(ctx, settleBound, func() bool { return o.mostGone() <= o.tolerated() })
	o.Screen.strip(o.masters(), o.quorum)
	seen := func() window { return window{from: since, to: time.Now()} }
	if ok {
		o.Screen.during(func() string { return o.progress(seen()) }, func() { err = app.Sleep(ctx, o.watch) })
		if err != nil {
			return err
		}
	}
	p := o.phase("one back", true, o.total-o.gone(), seen(), o.shop)
	detail := fmt.Sprintf("no sale within %v of a master's return", o.recovery)
	if ok {
		took := Millis(first.Sub(since))
		p.Recovery = &took
		detail = fmt.Sprintf("first sale %s after it was %s", span(took.duration()), returned)
	}
	o.outcome(ok, "it %s: %s", should(ok, "recovers by itself", "does not recover"), detail)
	o.result.expect("one back, it recovers", ok, detail)
	return nil
}
