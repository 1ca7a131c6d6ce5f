package hold

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/internal/wire"
)

// An attempt is one try to acquire. It begins with a token of its own and a reading of
// the clock, before anything is sent (S2, S3). It ends with its decision: in askAll, or in
// askPilot if the pilot does not grant it. One that a pilot has granted may be abandoned.
type attempt struct {
	hold    *Hold
	agreed  quorum.Bits   // masters that have granted it already
	limit   time.Duration // how long to wait for one master
	waited  time.Duration // how long it waited for masters to be judged
	overdue bool          // too few were judged in time, or the client closes: nobody is asked
	take    *wire.PilotTake
	called  bool // a pilot has called this reader
}

// begin begins an attempt for the handle's hold. It waits while a quorum may not vote yet but
// may soon, at most as long as for an answer. If that was too short, or the call ends
// meanwhile, no master is asked.
func (n *Handle) begin(ctx context.Context) attempt { return n.beginAfter(ctx, 0) }

// beginAfter is begin for a caller that has waited for the masters already.
func (n *Handle) beginAfter(ctx context.Context, spent time.Duration) attempt {
	limit := n.hold.home.Timeout(n.hold.claim.TTL)
	waited, ok := n.hold.home.cfg.Voters.Await(ctx, max(0, limit-spent))
	a := n.start(limit)
	a.waited = spent + waited
	a.overdue = a.overdue || !ok
	return a
}

// start begins an attempt without waiting. It is counted before it looks whether the client
// closes. So either it asks nobody, or Close waits for it.
func (n *Handle) start(limit time.Duration) attempt {
	h := n.hold
	home := h.home
	home.cfg.InFlight.Add() // Close waits for the attempt, rollback included
	home.cfg.Running.Add()
	h.claim.Token = home.NewToken(h.opts.Owner)
	h.life.start = home.now()
	return attempt{hold: h, limit: limit, overdue: home.closed()}
}

func (a *attempt) end() {
	a.hold.home.cfg.Running.Done()
	a.hold.home.cfg.InFlight.Done()
}

// abandon ends an attempt before all masters were asked.
func (a *attempt) abandon() {
	a.hold.rollback()
	a.end()
}

// meetsMove reports whether a question to the masters has failed because the fleet was
// closed during it, for a move that this client takes part in. The markers have changed
// then, and nothing is lost: it is worth repeating. It waits for the next look at the
// masters, for limit at most.
func (n *Handle) meetsMove(ctx context.Context, failed *outcome.Failure, limit time.Duration) bool {
	if ctx.Err() != nil || !slices.ContainsFunc(failed.Parts, func(p outcome.Part) bool { return voters.IsChange(p.Err) }) {
		return false
	}
	v := n.hold.home.cfg.Voters
	v.Await(ctx, limit)
	return v.MovesAlong()
}

// askPilot asks the pilot alone for the lock. If it is not granted, the attempt is over.
func (a *attempt) askPilot(ctx context.Context, pilot int, at wire.Place) (granted bool, t wire.Turn, err error) {
	h := a.hold
	w := h.home.cfg.Wire
	if h.home.closed() { // nobody is asked
		h.claim.Absent = w.Everyone()
		a.abandon()
		return false, wire.Turn{}, context.Cause(h.home.cfg.Life)
	}
	limit := w.Patience(pilot, a.limit)
	granted, t, err = w.TakeAt(ctx, &h.claim, pilot, at, h.life.start, limit)
	if granted {
		a.agreed.Add(pilot)
		return true, t, nil
	}
	a.abandon()
	if err == nil && t.Held == nil {
		t, err = h.inTheWay(ctx, pilot, limit)
	}
	return false, t, err
}

// inTheWay asks a pilot which of several keys it could not grant.
func (h *Hold) inTheWay(ctx context.Context, pilot int, limit time.Duration) (t wire.Turn, err error) {
	if t.Held, err = h.home.cfg.Wire.HolderAt(ctx, &h.claim, pilot, limit); err == nil {
		t.Held.Key = h.home.cfg.KeyName(t.Held.Key)
	}
	return t, err
}

// askAll asks the masters that have not granted the attempt yet. It decides and ends it.
func (a *attempt) askAll(ctx context.Context, holders bool) *outcome.Failure {
	defer a.end()
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
		elapsed = home.now().Sub(h.life.start) // there may have been a second round
	}
	elapsed += a.waited // for people, from here on
	if unfenced != nil && cause == nil {
		unfenced.Others = len(h.Others())
		return unfenced
	}
	return a.failure(ctx, ask, &res, cause, holders, elapsed)
}

// settle makes a hold of a granted attempt. It fails if no validity is left, or if the
// fencing token cannot be settled.
func (a *attempt) settle(ctx context.Context, ask *wire.Ask, res *wire.Result, now drift.Instant) (unfenced *outcome.Failure, settled bool) {
	h := a.hold
	validity := h.home.cfg.Validity(h.claim.TTL)
	if now.Sub(h.life.start) >= validity {
		return nil, false
	}
	h.acquired, h.life.validity, h.life.ttl = h.life.start, validity, h.claim.TTL
	if h.claim.Kind == wire.AnyOf {
		h.settleOn(res)
	}
	if h.claim.Fenced {
		if unfenced = h.settleFence(ctx, ask); unfenced != nil {
			return unfenced, false
		}
		now = h.home.now()
	}
	h.life.agreed = uint8(res.Tally.OK)
	return nil, now.Sub(h.life.start) < validity && h.keep(now)
}

// failure is why a decided attempt has failed.
func (a *attempt) failure(ctx context.Context, ask *wire.Ask, res *wire.Result, cause error, holders bool, elapsed time.Duration) *outcome.Failure {
	h := a.hold
	kind, note := outcome.NoQuorum, ""
	switch res.Outcome {
	case quorum.Granted:
		note = a.tooLong()
	case quorum.Refused:
		if cause == nil && holders && res.Refused != 0 {
			h.askHolders(ctx, ask, res.Refused, elapsed)
		}
		kind = h.refusedAs(ask)
	}
	f := ask.Failure(h.name, kind, cause, elapsed)
	f.Others, f.Note = len(h.Others()), note
	return f
}

// leastStep is the smallest step of the clock that a failure mentions.
const leastStep = time.Second

// tooLong says why no validity is left of an attempt that a quorum has granted.
func (a *attempt) tooLong() string {
	now, start := a.hold.home.now(), a.hold.life.start
	if step := now.Sub(start) - now.MonotonicSub(start); step >= leastStep {
		return fmt.Sprintf("this machine's clock was set forward by %v meanwhile, or it slept: no validity is left", step.Round(time.Second))
	}
	return "the answers took so long that no validity is left"
}

// askHolders asks the masters that refused an acquisition who holds the key, and adds
// their answers to those of the acquisition. It waits about as long as the acquisition
// took: a master that is silent now must not delay a decided attempt (L1).
func (h *Hold) askHolders(ctx context.Context, failed *wire.Ask, refused quorum.Bits, elapsed time.Duration) {
	w := h.home.cfg.Wire
	ask := w.Holders(&h.claim, w.Everyone()&^refused)
	defer ask.LetGo()
	limit := min(h.home.Timeout(h.claim.TTL), 5*time.Millisecond+2*elapsed)
	_ = ask.Wait(ctx, limit)
	failed.Learn(ask, h.home.cfg.KeyName)
}

// unjudged is the failure of an attempt that asks no master, because too few may vote.
func (a *attempt) unjudged(ctx context.Context) *outcome.Failure {
	h := a.hold
	home := h.home
	f := &outcome.Failure{
		Op: h.claim.Op().String(), Key: h.name, Others: len(h.Others()), Kind: outcome.NoQuorum,
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

// settleOn narrows the claim to the one key that a quorum has granted.
func (h *Hold) settleOn(res *wire.Result) {
	h.mu.Lock()
	key := h.home.cfg.KeyName(h.home.cfg.Wire.KeepOnly(&h.claim, res, h.keepRelease()))
	h.name, h.alone = key, true
	h.mu.Unlock()
}

// rollback releases what a failed attempt may have set, without waiting (L2). It calls no
// other waiter: the caller tries again, or passes the turn on when it gives up. Who adopts
// has no turn to pass on, and calls who waits.
func (h *Hold) rollback() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life.state = ended
	h.sendRelease(h.claim.Adopts())
}
