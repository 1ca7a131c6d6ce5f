package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Lock is one hold: what [Client.Lock] and its siblings return. It is held
// until [Lock.Unlock], or until it is lost, which [Lock.Context] tells. It is
// safe for concurrent use.
type Lock struct {
	c        *Client
	key      string // as the caller named it; the first where there are several
	others   []string
	opts     lockOptions
	claim    wire.Claim    // its kind and absent are guarded by mu
	intent   *intent       // of a writer that keeps readers out while it waits; nil: none
	acquired drift.Instant // start of the attempt that acquired it
	outer    *Lock         // the hold that this is a further handle on; nil: this is the hold

	// What the trace made a context of: first the call that acquires, from the
	// moment it is held the hold. nil: nothing. Not changed while it is held.
	told context.Context

	take *wire.PilotTake // the pilot's part in the attempt under way; nil: what the others get
	// Of the attempt under way: for how long it has waited for masters to be
	// judged, and whether too few were in time for it.
	waited  time.Duration
	overdue bool

	// mu guards what follows. Under it calls are queued, so that nothing of
	// this lock follows its release, but nothing blocks.
	mu       sync.Mutex
	state    lockState
	granted  uint8         // masters that had agreed when the attempt was decided
	returned bool          // unlocked while other handles go on holding; guarded by the hold's mu
	sent     bool          // the release has been sent
	extended bool          // an extension was sent: keys may outlive the TTL
	shared   *sharing      // the handles on this hold; nil: just this
	start    drift.Instant // validity runs from here
	validity time.Duration // TTL less the clock drift
	lost     *LostError    // when state is lost
	ctx      *holdContext  // made when first asked for
	renewing *wire.Ask     // the renewal under way
	renewed  int           // renewals that succeeded
	misses   int           // renewals that failed since
	lastMiss error         // why the last of them did
	renewAt  time.Duration // when the next starts, or the one under way has to end, on the keeper's clock

	setting ballot.Count // questions that may set or prolong the keys and that some master has not answered

	index int // in the keeper's heap, guarded by its mutex; notScheduled if it is not there
}

type lockState uint8

const (
	held lockState = iota
	lostHold
	unlocked
)

// Key is the key as it was given to Lock, without the prefix.
func (l *Lock) Key() string { return l.key }

// Keys is all keys of the hold; just the one for a lock of one key.
func (l *Lock) Keys() []string { return append([]string{l.key}, l.others...) }

// again is a new handle for another attempt at what l was for.
func (l *Lock) again() *Lock {
	return &Lock{
		c: l.c, claim: l.claim.Again(), key: l.key, others: l.others, opts: l.opts,
		intent: l.intent, told: l.told, index: notScheduled,
	}
}

// Token is the value that stands in Redis: owner name if one was given, the
// client's xid, and a random part; new for every attempt. It proves ownership
// to Redis. It is not a fencing token: it does not rise.
func (l *Lock) Token() string { return l.claim.Token }

// Remaining is for how much longer the lock is guaranteed, computed now, on a
// clock that counts time during which the machine was suspended. 0: it is not
// held any more.
func (l *Lock) Remaining() time.Duration {
	now := l.c.opts.clock.Now()
	h := l.hold()
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.returned {
		return 0
	}
	return h.remaining(now)
}

// remaining is Remaining at an instant. The caller must hold l.mu.
func (l *Lock) remaining(now drift.Instant) time.Duration {
	if l.state != held {
		return 0
	}
	return max(0, l.validity-now.Sub(l.start))
}

// ValidUntil is until when the lock is guaranteed unless it is extended, by
// this machine's wall clock at the start of the last round: a snapshot for
// people and logs. Decide by Remaining and Context.
func (l *Lock) ValidUntil() time.Time {
	h := l.hold()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.start.Wall().Add(h.validity)
}

// expire notices that the validity has run out, whether or not a timer has
// said so yet, and reports whether the lock was lost by that just now: then
// the caller, who must hold l.mu, must call l.afterLoss once it has released
// it.
func (l *Lock) expire(now drift.Instant) (lostNow bool) {
	if l.state != held || l.remaining(now) > 0 {
		return false
	}
	switch {
	case l.endsAsPlanned():
		return l.loseFor(&LostError{Key: l.key, Reason: ReasonExpired, Planned: true})
	case l.misses > 0 || l.renewing != nil:
		return l.lose(ReasonUnreachable, l.lastMiss)
	default:
		return l.lose(ReasonExpired, nil)
	}
}

// endsAsPlanned reports whether the validity that the lock has now is the last
// that it was to have. The caller must hold l.mu.
func (l *Lock) endsAsPlanned() bool {
	r := &l.opts.renewal
	switch {
	case l.opts.fixed, r.MaxCount > 0 && l.renewed >= r.MaxCount:
		return true
	default:
		return r.MaxHold > 0 && l.start.Sub(l.acquired)+l.validity >= r.MaxHold
	}
}

// unusable says why the lock is not held, or nil. The caller must hold l.mu.
func (l *Lock) unusable(op string) error {
	switch l.state {
	case lostHold:
		return &notHeldError{op, l.key, l.lost}
	case unlocked:
		return &notHeldError{op, l.key, ErrUnlocked}
	default:
		return nil
	}
}

// lose makes the loss final, and reports whether it was not before. It ends
// the lock's context. The caller must hold l.mu, and call l.afterLoss without
// it if the result is true.
func (l *Lock) lose(reason Reason, cause error) bool {
	return l.loseFor(&LostError{Key: l.key, Reason: reason, Err: cause})
}

// loseFor is lose.
func (l *Lock) loseFor(why *LostError) bool {
	if l.state != held {
		return false
	}
	l.state = lostHold
	l.lost = why
	if l.ctx != nil {
		l.ctx.cancel(l.lost)
	}
	l.shared.end(l.lost)
	return true
}

// afterLoss does what follows a loss and may not be done under l.mu. Where an
// extension was sent, keys may have been set or prolonged for a lock that does
// not exist any more: they are released rather than left for a TTL (S6). So are
// those of a minority when a majority has said that it has none.
func (l *Lock) afterLoss() {
	l.c.keeper.remove(l)
	now := l.c.opts.clock.Now()
	l.mu.Lock()
	err := l.lost
	early := now.Sub(l.start) < l.validity
	if (l.extended || early) && err.Reason != ReasonClosed {
		l.sendRelease(true)
	}
	l.mu.Unlock()
	l.traceLost(err)
	l.traceReleased(err.end(), err, l.c.opts.clock.Now())
}

// A liveLock is a lock as package wire sees it.
type liveLock Lock

// IfLive implements wire.Live.
func (h *liveLock) IfLive(generation uint8, send func()) bool {
	l := (*Lock)(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held || l.claim.Generation != generation {
		return false
	}
	send()
	return true
}

// lossReason is why a lock that is gone is gone.
func lossReason(res *wire.Result) Reason {
	if res.Taken {
		return ReasonTaken
	}
	return ReasonExpired
}
