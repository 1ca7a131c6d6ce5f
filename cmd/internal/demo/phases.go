package demo

import (
	"context"
	"fmt"
	"time"
)

// withoutLock sells the inventory to buyers that take no lock.
func (r *run) withoutLock(ctx context.Context) error {
	r.heading("Without a lock",
		"Every buyer reads the stock, takes a moment, and writes back one piece less.")
	p, _, err := r.sellOut(ctx, "without a lock", false, []lockFunc{r.unguarded}, 30*time.Second)
	if err != nil {
		return err
	}
	oversold := p.Inventory.Oversold
	if oversold > 0 {
		r.outcome(true, "sold %d of %d: oversold by %d, up to %s at the stock at once",
			p.Sales, r.Stock, oversold, count(p.MostInside, "buyer"))
	} else {
		r.outcome(false, "sold %d of %d: no two buyers met this time, which is luck (more buyers help)",
			p.Sales, r.Stock)
	}
	r.result.expect("without a lock it oversells", oversold > 0, fmt.Sprintf("sold %d of %d", p.Sales, r.Stock))
	return nil
}

// withLock sells the inventory again, to the same buyers, under the lock.
func (r *run) withLock(ctx context.Context) error {
	r.heading("With the lock",
		fmt.Sprintf("The same buyers, shared out among %s, take the lock first.", count(len(r.clients), "client")))
	p, wrong, err := r.sellOut(ctx, "with the lock", true, r.locks(), time.Minute)
	if err != nil {
		return err
	}
	exact := p.Sales == r.Stock && p.Inventory.After == 0 && !wrong
	alone := p.MostInside == 1
	detail := fmt.Sprintf("sold %d of %d, stock %d", p.Sales, r.Stock, p.Inventory.After)
	if p.Note != "" {
		detail += "; " + p.Note
	}
	inside := fmt.Sprintf("at most %s at the stock at once", count(p.MostInside, "buyer"))
	r.outcome(exact && alone, "%s, %s", detail, inside)
	r.result.expect("with the lock it is exact", exact, detail)
	r.result.expect("the lock excludes", alone, inside)
	return nil
}

// sellOut opens a shop and waits until it has sold out, at most for bound or half a second per
// piece, whichever is longer. p.Note says what went wrong.
func (r *run) sellOut(
	ctx context.Context, name string, lock bool, locks []lockFunc, bound time.Duration,
) (p *Phase, wrong bool, err error) {
	up := r.total - r.gone()
	from := time.Now()
	s := openShop(ctx, r.Stock, r.Buyers, locks)
	defer s.close()
	var out bool
	r.Screen.during(func() string {
		b := s.stock.books()
		return fmt.Sprintf("sold %d · stock %d · %s", b.sold, b.stock, span(time.Since(from)))
	}, func() { out = s.soldOut(ctx, max(bound, time.Duration(r.Stock)*500*time.Millisecond)) })
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	to := time.Now()
	s.close()

	b := s.stock.books()
	p = r.phase(name, lock, up, window{from: from, to: to}, s)
	p.Sales = b.sold
	p.Inventory = &Stock{Before: r.Stock, After: b.stock, Oversold: max(0, b.sold-r.Stock)}
	p.MostInside = s.referee.mostAtOnce()
	p.Note, wrong = s.ledger.remark()
	switch {
	case !out:
		p.Note, wrong = fmt.Sprintf("not sold out after %s", span(to.Sub(from))), true
	case b.least < 0:
		p.Note, wrong = fmt.Sprintf("the stock went down to %d", b.least), true
	}
	return p, wrong, nil
}

// phase adds the figures of a window to the result.
func (r *run) phase(name string, lock bool, up int, w window, s *shop) *Phase {
	f := s.ledger.in(w)
	r.result.Phases = append(r.result.Phases, Phase{
		Name: name, Lock: lock, MastersUp: up, Duration: Millis(w.to.Sub(w.from)),
		Sales: f.sales, Refused: f.refused, P50: Millis(f.p50), P99: Millis(f.p99),
	})
	return &r.result.Phases[len(r.result.Phases)-1]
}

func (p *Phase) sold() string {
	return fmt.Sprintf("%s in %s, %d refused", count(p.Sales, "sale"), span(p.Duration.duration()), p.Refused)
}
