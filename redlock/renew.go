package redlock

import (
	"context"
	"log/slog"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/wire"
)

// Renewal of one lock, as the keeper drives it.

const (
	// retryRenewal is the least pause after a renewal that failed.
	retryRenewal = 5 * time.Millisecond
	// retryEach is how far apart the failed renewals of all locks are tried
	// again on average: in an outage the retries of 100,000 locks would leave
	// the machine no time for anything else, recovery included.
	retryEach = 20 * time.Microsecond
	// mostSlack is how much earlier a renewal starts at the most so that it
	// goes out together with others: one flush a master for all of them.
	mostSlack = 10 * time.Millisecond
	// mostRenewals is how many may be under way, unless the pool's queues are
	// so short that it has to be less. It counts when many locks are due at
	// once, as after a suspend, or where masters or machine cannot keep up: it
	// is enough for 10,000 a second at 400 ms each, and delays other commands
	// by a tenth of a second where they can.
	mostRenewals = 4096
	// eachUnderWay is how much longer a renewal waits for each that is under
	// way: for machines and masters that manage 2,000 a second.
	eachUnderWay = 500 * time.Microsecond
)

// mostUnderWay is how many renewals a client has under way at the most. Each may
// leave a call behind with a master that has fallen silent, and the next ones
// need room beside those.
func (c *Client) mostUnderWay() int {
	return min(mostRenewals, c.masters[0].QueueLimit()/4)
}

// patience is how long a renewal of l waits for a quorum: as long as other
// operations, but longer where many are under way. Another attempt would only
// stand behind all of them on the same connections; one that is lost fails it at
// once. It leaves time for several attempts. The caller must hold l.mu.
func (k *keeper) patience(l *Lock, left time.Duration) time.Duration {
	queued := min(left/4, time.Duration(k.underWay)*eachUnderWay)
	return min(left, max(k.c.nodeTimeout(l.claim.TTL), queued))
}

// slack is the grid on which renewals start, by their interval.
func slack(every time.Duration) time.Duration {
	return min(mostSlack, every/32) // a third of the jitter
}

// planRenewal sets when the next renewal starts: a third of the TTL (or
// Renewal.Every) after the round that the validity counts from, a little
// earlier at random so that locks taken together are not renewed together; at
// once when less than half of the TTL is left; after a failure as soon as it
// makes sense to try again within what is left. The caller must hold l.mu; now
// and instant are the same moment on two clocks.
func (l *Lock) planRenewal(now time.Duration, instant drift.Instant) {
	o := &l.opts
	left := l.remaining(instant)
	ttl := l.claim.TTL
	every := o.renewal.every(ttl)
	grid := slack(every)
	at := now - instant.Sub(l.start) + every - l.c.opts.chance.N("renewal", every/10-grid+1)
	at -= at % grid
	switch {
	case l.misses > 0:
		pause := max(l.c.nodeTimeout(ttl), time.Duration(l.c.keeper.held.Load())*retryEach)
		pause = max(retryRenewal, min(pause, left/4))
		at = now + pause/2 + l.c.opts.chance.N("renewal", pause/2+1)
	case left < ttl/2:
		at = now
	}
	switch {
	case o.fixed,
		o.renewal.MaxCount > 0 && l.renewed >= o.renewal.MaxCount,
		o.renewal.MaxHold > 0 && instant.Sub(l.acquired)+max(0, at-now) > o.renewal.MaxHold:
		at = never
	}
	l.renewAt = at
}

// nextEvent is when the keeper has to look at the lock. The caller must hold
// l.mu.
func (l *Lock) nextEvent(now time.Duration, instant drift.Instant) time.Duration {
	if l.state != held {
		return never
	}
	return min(l.renewAt, now+l.remaining(instant))
}

// look is what is done when a lock's event has come.
func (k *keeper) look(l *Lock) {
	now, instant := k.now(), k.c.opts.clock.Now()
	l.mu.Lock()
	lostNow := l.expire(instant)
	switch {
	case l.state != held || now < l.renewAt:
	case l.renewing != nil: // and its time is over
		l.renewing.Expire()
		l.renewAt = never // until its conclusion is drawn
	case k.underWay >= k.mostUnderWay:
		// Put off: the less validity is left the sooner it comes again.
		l.renewAt = now + retryRenewal + k.c.opts.chance.N("renewal", l.remaining(instant)/4+1)
	default:
		k.underWay++
		l.renewing = l.startExtension(wire.OpExtend, true)
		l.renewAt = now + k.patience(l, l.remaining(instant))
	}
	due := l.nextEvent(now, instant)
	l.mu.Unlock()
	if lostNow {
		l.afterLoss()
		return
	}
	k.schedule(l, due)
}

// replan sets the next renewal anew after the clocks have parted.
func (k *keeper) replan(l *Lock) {
	now, instant := k.now(), k.c.opts.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == held && l.renewing == nil {
		l.planRenewal(now, instant)
	}
}

// renewed draws the conclusion of a renewal that was decided.
func (k *keeper) renewed(r *wire.Ask) {
	defer r.LetGo()
	k.underWay--
	l := (*Lock)(r.Live().(*liveLock))
	l.mu.Lock()
	l.renewing = nil
	over := l.state != held
	l.mu.Unlock()
	if over { // unlocked or lost while the renewal was under way
		return
	}
	err := l.finishExtension(l.told, r, nil)

	now, instant := k.now(), k.c.opts.clock.Now()
	l.mu.Lock()
	switch {
	case err == nil:
		l.renewed++
		l.misses, l.lastMiss = 0, nil
	case l.state == unlocked:
		l.mu.Unlock()
		return
	default:
		l.misses++
		l.lastMiss = err
	}
	l.planRenewal(now, instant)
	due, count, first := l.nextEvent(now, instant), l.renewed, l.misses == 1
	l.mu.Unlock()
	k.schedule(l, due)
	if err != nil {
		level := slog.LevelDebug // in an outage they come by the thousand
		if first {
			level = slog.LevelWarn
		}
		k.c.opts.logger.Log(context.Background(), level, "renewal failed", "key", l.key, "error", err)
	}
	l.traceRenewal(r, count, instant, err)
}
