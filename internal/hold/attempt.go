package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// An Attempt is one try to acquire. It begins with a token of its own and a reading of
// the clock, before anything is sent (S2, S3), and is over when it is decided. One that
// a pilot has granted goes on with AskOthers.
type Attempt struct {
	hold    *Hold
	agreed  uint64        // masters that have granted it already
	limit   time.Duration // for how long one master is waited for
	waited  time.Duration // for masters to be judged
	overdue bool          // too few were judged in time
	take    *wire.PilotTake
	called  bool // a pilot has called this reader
}

// begin begins an attempt for the handle's hold; end must be called. It waits while a
// quorum may not vote yet but soon may, for as long as a master is waited for. If that was too
// short, or the call ends meanwhile, the masters are not asked.
func (n *Handle) begin(ctx context.Context) Attempt {
	h := n.hold
	home := h.home
	home.cfg.InFlight.Add() // Close waits for what is begun here, rollback included
	limit := home.Timeout(h.claim.TTL)
	waited, ok := home.cfg.Voters.Await(ctx, limit)
	h.claim.Token = home.NewToken(h.opts.Owner)
	h.life.start = home.now()
	return Attempt{hold: h, limit: limit, waited: waited, overdue: !ok}
}

func (a *Attempt) end() { a.hold.home.cfg.InFlight.Done() }

// Acquire asks every master for the lock, once, and returns as soon as the answer is
// decided: nil, and it is held. On failure every master is rolled back that may have the
// key; the rollback goes out behind the acquisition and is not waited for (L2). Who holds a
// key that is taken is asked only if the caller wants to know. It blocks for about a
// round trip, for the masters' timeout at the most. Call Again before the next attempt.
func (n *Handle) Acquire(ctx context.Context, holders bool) *outcome.Failure {
	a := n.begin(ctx)
	defer a.end()
	return a.askAll(ctx, holders)
}

// AcquireWith is Acquire where the pilot gets a command of its own, by which it takes the
// client out of its queue. The answer is what it had said by the decision.
func (n *Handle) AcquireWith(ctx context.Context, pilot int, at wire.Place) (wire.PilotAnswer, *outcome.Failure) {
	a := n.begin(ctx)
	defer a.end()
	a.take = &wire.PilotTake{Pilot: pilot, At: at}
	failed := a.askAll(ctx, false)
	return a.take.Answer, failed
}

// AcquireCalled is Acquire, of a reader that a pilot has called: no writer that waits
// keeps it out.
func (n *Handle) AcquireCalled(ctx context.Context) *outcome.Failure {
	a := n.begin(ctx)
	defer a.end()
	a.called = true
	return a.askAll(ctx, false)
}

// AskPilot asks the pilot alone for the lock, and waits for limit at the most. If that
// grants it, the attempt goes on with AskOthers, which the caller must call at once;
// else it is over, and the pilot has said whose turn it is.
func (n *Handle) AskPilot(ctx context.Context, pilot int, at wire.Place, limit time.Duration) (a Attempt, granted bool, t wire.Turn, err error) {
	a = n.begin(ctx)
	h := a.hold
	granted, t, err = h.home.cfg.Wire.TakeAt(ctx, &h.claim, pilot, at, h.life.start, limit)
	a.pilotSaid(pilot, granted)
	return a, granted, t, err
}

// AskPilotForSet is AskPilot for several keys together. The turn tells which of them is
// in the way.
func (n *Handle) AskPilotForSet(ctx context.Context, pilot int, limit time.Duration) (a Attempt, granted bool, t wire.Turn, err error) {
	a = n.begin(ctx)
	h := a.hold
	w := h.home.cfg.Wire
	granted, inTheWay, err := w.TakeSetAt(ctx, &h.claim, pilot, h.life.start, limit)
	a.pilotSaid(pilot, granted)
	if granted || err != nil || inTheWay != nil {
		return a, granted, wire.Turn{Held: inTheWay}, err
	}
	inTheWay, err = w.HolderAt(ctx, &h.claim, pilot, limit)
	if err != nil {
		return a, false, wire.Turn{}, err
	}
	inTheWay.Key = h.home.cfg.KeyName(inTheWay.Key)
	return a, false, wire.Turn{Held: inTheWay}, nil
}

// pilotSaid takes note of the pilot's answer.
func (a *Attempt) pilotSaid(pilot int, granted bool) {
	if granted {
		a.agreed = 1 << pilot
		return
	}
	a.hold.rollback()
	a.end()
}

// AskOthers goes on with an attempt that a pilot has granted: it is Acquire for the other
// masters.
func (a *Attempt) AskOthers(ctx context.Context, holders bool) *outcome.Failure {
	defer a.end()
	return a.askAll(ctx, holders)
}

// askAll asks the masters that have not granted the attempt yet, and decides it.
func (a *Attempt) askAll(ctx context.Context, holders bool) *outcome.Failure {
	h := a.hold
	home := h.home
	if a.overdue {
		if a.agreed != 0 {
			h.rollback()
		}
		return a.unjudged(ctx)
	}
	ask := home.cfg.Wire.Acquire(&h.claim, &wire.Try{
		Live: h, Over: &h.setting, Start: h.life.start, Agreed: a.agreed, Wait: a.limit, Take: a.take, Called: a.called,
	})
	defer ask.LetGo()
	cause := ask.Wait(ctx, a.limit)

	res := ask.Result()
	now := home.now()
	h.claim.Absent = res.Absent
	if a.take != nil {
		a.take.Answer = ask.PilotSaid()
	}
	h.owner.Answered(h.owner.Context(), ask)
	unfenced, settled := (*outcome.Failure)(nil), false
	if res.Outcome == quorum.Granted {
		unfenced, settled = a.settle(ctx, ask, &res, now)
	}
	if settled {
		return nil
	}
	h.rollback()
	if home.closed() {
		cause = context.Cause(home.cfg.Life)
	}
	elapsed := now.Sub(h.life.start)
	if h.claim.Fenced && res.Outcome == quorum.Granted {
		elapsed = home.now().Sub(h.life.start) // it has taken another round, perhaps
	}
	elapsed += a.waited // for people, from here on
	if unfenced != nil && cause == nil {
		unfenced.Others = len(h.Others())
		return unfenced
	}
	return a.failure(ctx, ask, &res, cause, holders, elapsed)
}

// settle makes a hold of a decision for us, unless no validity is left or the fencing
// token cannot be settled: that is the failure then.
func (a *Attempt) settle(ctx context.Context, ask *wire.Ask, res *wire.Result, now drift.Instant) (unfenced *outcome.Failure, settled bool) {
	h := a.hold
	validity := h.home.cfg.Validity(h.claim.TTL)
	if now.Sub(h.life.start) >= validity {
		return nil, false
	}
	h.acquired, h.life.validity = h.life.start, validity
	if h.claim.Kind.OneOf {
		h.settleOn(res)
	}
	if h.claim.Fenced {
		if unfenced = h.settleFence(ctx, ask, true); unfenced != nil {
			return unfenced, false
		}
		now = h.home.now()
	}
	h.life.agreed = uint8(res.Tally.OK)
	return nil, now.Sub(h.life.start) < validity && h.keep(now)
}

// failure is why an attempt that was decided came to nothing.
func (a *Attempt) failure(ctx context.Context, ask *wire.Ask, res *wire.Result, cause error, holders bool, elapsed time.Duration) *outcome.Failure {
	h := a.hold
	kind, note := outcome.NoQuorum, ""
	switch res.Outcome {
	case quorum.Granted:
		note = a.tooLong()
	case quorum.Refused:
		if cause == nil && holders && res.Refused != 0 {
			h.askHolders(ctx, ask, res.Refused, elapsed)
		}
		kind = ask.FailureKind()
	}
	f := ask.Failure(h.name, kind, cause, elapsed)
	f.Others, f.Note = len(h.Others()), note
	return f
}

// leastStep is the least step of the clock that a failure tells of.
const leastStep = time.Second

// tooLong says why no validity is left of an attempt that a quorum has granted.
func (a *Attempt) tooLong() string {
	now, start := a.hold.home.now(), a.hold.life.start
	if step := now.Sub(start) - now.MonotonicSub(start); step >= leastStep {
		return fmt.Sprintf("this machine's clock was set forward by %v meanwhile, or it slept: no validity is left", step.Round(time.Second))
	}
	return "the answers took so long that no validity is left"
}

// askHolders asks the masters that refused an acquisition who holds the key, and puts
// what they say into its answers. It waits for about as long as the acquisition itself
// took: a master that has fallen silent since must not hold up a decided attempt (L1).
func (h *Hold) askHolders(ctx context.Context, failed *wire.Ask, refused uint64, elapsed time.Duration) {
	w := h.home.cfg.Wire
	ask := w.Holders(&h.claim, w.Everyone()&^refused)
	defer ask.LetGo()
	limit := min(h.home.Timeout(h.claim.TTL), 5*time.Millisecond+2*elapsed)
	_ = ask.Wait(ctx, limit)
	failed.Learn(ask, h.home.cfg.KeyName)
}

// unjudged is the failure of an attempt that is not made, since too few masters may
// vote.
func (a *Attempt) unjudged(ctx context.Context) *outcome.Failure {
	h := a.hold
	home := h.home
	f := &outcome.Failure{
		Op: wire.OpLock.String(), Key: h.name, Others: len(h.Others()), Kind: outcome.NoQuorum,
		Need: home.cfg.Need, Total: len(home.cfg.Masters), Elapsed: a.waited, Note: "too few masters may vote, so none was asked",
		Cause: home.interrupted(ctx),
	}
	now := home.now()
	for i := range home.cfg.Masters {
		if why := home.cfg.Voters.AbstainsNow(i, now); why != nil {
			f.Parts = append(f.Parts, outcome.Part{Master: i, Err: why})
		}
	}
	return f
}

// keep begins the hold's life. It reports false when the client is closed.
func (h *Hold) keep(now drift.Instant) bool {
	h.owner.Held()
	if h.home.keeper.add(h, now) {
		return true
	}
	l := &Loss{Reason: Closed}
	l.Cause = h.owner.Cause(l)
	h.owner.Released(End{Loss: l, At: now})
	return false
}

// settleOn makes the claim that of the one key that was granted at a quorum.
func (h *Hold) settleOn(res *wire.Result) {
	h.mu.Lock()
	key := h.home.cfg.KeyName(h.home.cfg.Wire.KeepOnly(&h.claim, res, h.keepRelease()))
	h.name, h.alone = key, true
	h.mu.Unlock()
}

// rollback releases a lock that nobody has seen, without waiting (L2). Nobody is told:
// who failed tries again, or passes the turn on when it gives up.
func (h *Hold) rollback() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life.state = ended
	h.sendRelease(false)
}
