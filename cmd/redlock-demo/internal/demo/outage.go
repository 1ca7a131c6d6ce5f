package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
)

const (
	// delivery is so much that it cannot be sold out while masters come and go.
	delivery = 1 << 30
	// underWay is how long after the loss of the quorum a grant may still turn
	// up that was on its way: an attempt is decided within 250 ms.
	underWay = 500 * time.Millisecond
	// mostStages bounds a run in which a person keeps changing the masters.
	mostStages = 20
)

// A skippedError ends the part with the masters without failing it.
type skippedError struct{ why string }

func (e *skippedError) Error() string { return e.why }

// outages takes masters away while it sells, where somebody can.
func (r *run) outages(ctx context.Context) error {
	const what = "taking masters away while it sells"
	r.heading("With fewer and fewer masters",
		"A delivery has come, the buyers are back, and masters go away one by one.")
	err := r.withFewer(ctx)
	skipped, ok := errors.AsType[*skippedError](err)
	if !ok {
		return err
	}
	r.Screen.paragraph("   "+r.Screen.dim("–")+" ", 5, "skipped: "+skipped.why)
	r.result.Skipped = append(r.result.Skipped, Skipped{what, skipped.why})
	return nil
}

// withFewer watches the shop until there is no quorum any more, and then until
// it has recovered.
func (r *run) withFewer(ctx context.Context) error {
	h, err := r.hand()
	if err != nil {
		return err
	}
	o := &outage{run: r, hand: h, start: r.gone()}
	o.shop = openShop(ctx, delivery, r.Buyers, r.Seed, r.guards())
	defer o.shop.close()
	err = o.untilRefused(ctx)
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

// An outage is one shop while masters come and go.
type outage struct {
	*run
	hand  hand
	shop  *shop
	start int // masters that were gone from the start
}

// untilRefused takes masters away and watches, until no quorum is left.
func (o *outage) untilRefused(ctx context.Context) error {
	gone, take := o.start, true
	since := time.Now()
	for range mostStages {
		if take {
			var err error
			if gone, since, err = o.hand.take(ctx, gone+1); err != nil {
				return err
			}
		}
		o.Screen.strip(o.run.masters(), o.quorum)
		counted, err := o.watch(ctx, gone, since)
		if err != nil {
			return err
		}
		if counted && gone > o.tolerated() {
			return nil
		}
		if take = counted; !counted {
			gone, since = o.gone(), time.Now()
			take = gone <= o.start
		}
	}
	return &skippedError{fmt.Sprintf("the masters changed %d times while they were watched", mostStages)}
}

// watch looks at the shop while gone masters are gone, since a while ago. Where
// that did not stay so, it does not count.
func (o *outage) watch(ctx context.Context, gone int, since time.Time) (counted bool, err error) {
	stop := o.Screen.follow(func() string {
		f := o.shop.ledger.in(o.window(gone, since))
		return fmt.Sprintf("sold %d · refused %d · %s", f.sales, f.refused, span(time.Since(since)))
	})
	defer stop()
	if err := sleep.For(ctx, o.Watch); err != nil {
		return false, err
	}
	// Where the machine or the masters are slow, there is more to see later.
	o.await(ctx, o.refusal, func() bool {
		f := o.shop.ledger.in(o.window(gone, since))
		return gone > o.tolerated() && f.last != nil || gone <= o.tolerated() && o.sellsSince(since)
	})
	w := o.window(gone, since)
	stop()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if !o.hand.owns() && o.gone() != gone {
		o.Screen.paragraph("   "+o.Screen.dim("–")+" ", 5, "the masters changed meanwhile: this does not count")
		return false, nil
	}
	if gone > o.tolerated() {
		o.refuses(gone, w)
	} else {
		o.goesOn(gone, w)
	}
	return true, nil
}

// window is from since until now.
func (o *outage) window(gone int, since time.Time) window {
	w := window{from: since, to: time.Now()}
	if gone > o.tolerated() {
		w.grace = underWay
	}
	return w
}

// sellsSince reports whether anything was sold since then, beyond what was
// under way already.
func (o *outage) sellsSince(since time.Time) bool {
	return o.shop.ledger.in(window{from: since, to: time.Now(), grace: underWay}).sales > 0
}

func (o *outage) goesOn(gone int, w window) {
	p := o.phase(number(gone)+" gone", true, o.total-gone, w, o.shop)
	// How many is a matter of the masters' speed, and so is whether some buyers
	// are refused: slow masters do not answer in time.
	ok := o.sellsSince(w.from)
	detail := p.sold()
	verb := "it goes on"
	if !ok {
		verb = "it should go on"
	}
	o.outcome(ok, "%s: %s; p50 %s, p99 %s", verb, detail, span(p.P50.duration()), span(p.P99.duration()))
	o.result.expect(fmt.Sprintf("%s of %s gone, it goes on", number(gone), number(o.total)), ok, detail)
}

func (o *outage) refuses(gone int, w window) {
	p := o.phase(number(gone)+" gone", true, o.total-gone, w, o.shop)
	f := o.shop.ledger.in(w)
	named := 0
	if f.last != nil {
		p.Causes = causes(f.last.err, o.run.masters())
		named = explained(p.Causes, o.run.masters())
	}
	detail := p.sold()
	silent := p.Sales == 0 && f.last != nil
	verb := "it refuses"
	if !silent {
		verb = "it should refuse"
	}
	o.outcome(silent, "%s: %s, none later than %s", verb, detail, span(f.longest))
	if f.last != nil {
		o.Screen.line("     The last buyer was told: no quorum, for %d are needed.", f.last.err.Need)
		for _, c := range p.Causes {
			text := c.Cause
			switch c.State {
			case stateAgreed:
				text = o.Screen.green("agreed")
			case stateFailed:
				text = o.Screen.red(c.Cause)
			}
			o.Screen.line("       %s  %s", pad(c.Address, o.addressWidth(), false), text)
		}
	}
	o.result.expect(fmt.Sprintf("%s of %s gone, it refuses", number(gone), number(o.total)), silent, detail)
	o.result.expect("it says why, per master", named >= gone,
		fmt.Sprintf("%d of the %d that are gone have a cause", named, gone))
}

func (o *outage) addressWidth() int {
	width := 0
	for _, m := range o.run.masters() {
		width = max(width, len([]rune(m.Address)))
	}
	return width
}

// audit closes the books over everything that was sold meanwhile.
func (o *outage) audit() {
	b := o.shop.stock.books()
	remark, wrong := o.shop.ledger.remark()
	detail := fmt.Sprintf("%d sold, %d out of stock, at most %d at a time",
		b.sold, delivery-b.stock, o.shop.door.mostInside())
	if remark != "" {
		detail += ", " + remark
	}
	ok := b.sold == delivery-b.stock && o.shop.door.mostInside() <= 1 && !wrong
	o.outcome(ok, "the books: %s", detail)
	o.result.expect("the books balance", ok, detail)
}

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
