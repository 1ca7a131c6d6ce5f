package hold

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A renewal is the state of a hold's renewals, which the renewer makes. The hold's mutex
// guards it.
type renewal struct {
	underWay    *wire.Ask       // nil: none
	count       int             // renewals that succeeded
	failed      int             // renewals that failed since then
	lastFailure *quorum.Failure // why the last of them failed
	nextAt      time.Duration   // when the next starts, or that under way has to end, on the renewer's clock
}

// Renewed describes a decided renewal.
type Renewed struct {
	Ask          *wire.Ask
	At           drift.Instant
	Count        int           // renewals that succeeded so far
	Remaining    time.Duration // of the validity
	FirstFailure bool          // the first after a success
	Problem      *Problem      // nil: it succeeded
}

const (
	// retryRenewal is the least pause after a renewal that failed.
	retryRenewal = 5 * time.Millisecond
	// retryEach is the average time between two retries of failed renewals, of all locks
	// together. In an outage the retries of 100,000 locks would leave the machine no time
	// for anything else, recovery included.
	retryEach = 20 * time.Microsecond
	// mostSlack is how much earlier a renewal may start so that it goes out together with
	// others, in one flush a master.
	mostSlack = 10 * time.Millisecond
	// mostRenewals is how many renewals may be under way, or fewer if the pool's queues are
	// short. It matters when many locks are due at once, as after a suspend, or when the
	// masters or the machine cannot keep up. It allows 10,000 renewals a second at 400 ms
	// each. If all keep up, it delays other commands by a tenth of a second.
	mostRenewals = 4096
)

// mostUnderWay returns how many renewals a client may have under way. Each may leave a call in
// the queue of a silent master, and the next ones need room beside them.
func (manager *Manager) mostUnderWay() int {
	return min(mostRenewals, manager.cfg.Masters[0].QueueLimit()/4)
}

// patience returns how long a renewal waits for a quorum: a quarter of the validity that is
// left, or as long as other operations if that is more. On a slow master or machine every answer
// is late, and another attempt would be answered no sooner than this one. A quarter leaves time
// for several attempts. A lost connection fails the renewal at once. The caller must hold h.mu.
func (h *Hold) patience(left time.Duration) time.Duration {
	return min(left, max(h.manager.AnswerTimeout(h.claim.TTL), left/4))
}

// slack returns the grid on which renewals with this interval start.
func slack(every time.Duration) time.Duration {
	return min(mostSlack, every/32) // a third of the jitter
}

// planRenewal sets when the next renewal starts: a third of the validity (or Options.Every) after
// the start of the round that the validity counts from. A random part makes it a little earlier,
// so that holds that began together are not renewed together. With less than half of the validity
// left it starts at once. After a failure it starts after a random pause of at most a quarter of
// what is left, or of 5 ms if that is more. The caller must hold h.mu; now and instant are the
// same moment on two clocks.
func (h *Hold) planRenewal(now time.Duration, instant drift.Instant) {
	o := h.opts
	left := h.life.remaining(instant)
	validity := h.life.validity
	every := o.every(validity)
	grid := slack(every)
	at := now - instant.Sub(h.life.start) + every - h.manager.cfg.Chance.N("renewal", every/10-grid+1)
	at -= at % grid
	switch {
	case h.renewal.failed > 0:
		pause := max(h.manager.EndTimeout(h.claim.TTL), time.Duration(h.manager.renewer.held.Load())*retryEach)
		pause = max(retryRenewal, min(pause, left/4))
		at = now + pause/2 + h.manager.cfg.Chance.N("renewal", pause/2+1)
	case left < validity/2:
		at = now
	}
	switch {
	case o.Fixed,
		o.MaxCount > 0 && h.renewal.count >= o.MaxCount,
		o.MaxHold > 0 && instant.Sub(h.acquired)+max(0, at-now) > o.MaxHold:
		at = never
	}
	h.renewal.nextAt = at
}

// nextEvent returns when the renewer has to look at the hold next. The caller must hold h.mu.
func (h *Hold) nextEvent(now time.Duration, instant drift.Instant) time.Duration {
	switch h.life.state {
	case held:
	case lost:
		return now + h.life.unexpired(instant)
	default:
		return never
	}
	return min(h.renewal.nextAt, now+h.life.remaining(instant))
}

// look does what is due when a hold's event has come.
func (k *renewer) look(h *Hold) {
	h.mu.Lock()
	now, instant := k.now(), k.manager.now()
	if h.life.state == lost && h.life.unexpired(instant) == 0 {
		h.releaseUnasked()
		h.mu.Unlock()
		k.remove(h)
		return
	}
	h.expire(instant)
	switch r := &h.renewal; {
	case h.life.state != held || now < r.nextAt:
	case r.underWay != nil: // it has run out of time
		r.underWay.Expire()
		r.nextAt = never // until its result is known
	case k.underWay >= k.mostUnderWay:
		// It has to wait. The less validity is left, the sooner it tries again.
		r.nextAt = now + retryRenewal + k.manager.cfg.Chance.N("renewal", h.life.remaining(instant)/4+1)
	default:
		k.underWay++
		r.underWay = h.startExtension(true)
		r.nextAt = now + h.patience(h.life.remaining(instant))
	}
	due := h.nextEvent(now, instant)
	h.mu.Unlock()
	k.schedule(h, due) // does nothing for a hold that was removed
}

// replan sets the next renewal anew after the clocks have differed.
func (k *renewer) replan(h *Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, instant := k.now(), k.manager.now()
	if h.life.state == held && h.renewal.underWay == nil {
		h.planRenewal(now, instant)
	}
}

// renewed acts on a decided renewal.
func (k *renewer) renewed(ask *wire.Ask) {
	defer ask.Done()
	k.underWay--
	h := ask.Hold().(*Hold)
	h.mu.Lock()
	now, instant := k.now(), k.manager.now()
	h.renewal.underWay = nil
	if h.life.state != held { // released or lost while the renewal was under way
		h.mu.Unlock()
		return
	}
	p := h.finishExtension(instant, ask, nil)
	if r := &h.renewal; p == nil {
		r.count++
		r.failed, r.lastFailure = 0, nil
	} else {
		r.failed++
		r.lastFailure = p.Failure
	}
	h.planRenewal(now, instant)
	due := h.nextEvent(now, instant)
	renewed := Renewed{
		Ask: ask, At: instant, Count: h.renewal.count, Remaining: h.life.remaining(instant),
		FirstFailure: h.renewal.failed == 1, Problem: p,
	}
	if report := h.owner.Renewed(&renewed); report != nil {
		h.report(h.manager.cfg.Deliverer.Put, report)
	}
	h.mu.Unlock()
	k.schedule(h, due)
}
