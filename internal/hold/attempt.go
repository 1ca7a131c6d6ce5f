package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// An attempt is one try to acquire. It begins with a token of its own and a reading of
// the clock, before anything is sent (S2, S3). It ends with its decision: in askAll, or in
// askPilot if the pilot does not grant it. After the pilot's grant it may be abandoned.
type attempt struct {
	hold    *Hold
	agreed  quorum.MasterSet // masters that have granted it already
	until   time.Time        // when its call has to end; zero: no bound
	waited  time.Duration    // how long it waited for masters to be judged
	overdue bool             // too few were judged in time, or the client closes: no master is asked
	take    *wire.PilotTake
	called  bool          // a pilot has called this reader
	repeats int           // how often the call may make it again
	again   time.Duration // once it has failed: the pause before it is repeated; 0: it is not
}

// patience returns how long to wait for a master: never longer than the call may take.
func (a *attempt) patience() time.Duration {
	d := a.hold.manager.Timeout(a.hold.claim.TTL)
	if !a.until.IsZero() {
		d = min(d, max(0, time.Until(a.until)))
	}
	return d
}

// begin begins an attempt for the handle's hold. If no quorum may vote yet but one soon may, it
// waits, at most as long as for an answer. If that is too short, or the call ends meanwhile, no
// master is asked. The attempt is counted before it checks whether the client closes. So either
// it asks no master, or Close waits for it.
func (n *Handle) begin(ctx context.Context, until time.Time) attempt {
	h := n.hold
	manager := h.manager
	a := attempt{hold: h, until: until}
	waited, ok := manager.cfg.Voters.Await(ctx, a.patience())
	manager.cfg.InFlight.Add() // Close waits for the attempt, rollback included
	manager.cfg.Running.Add()
	h.claim.Token = manager.NewToken(h.opts.Owner)
	h.life.start = manager.now()
	a.waited, a.overdue = waited, manager.closed() || !ok
	return a
}

func (a *attempt) end() {
	a.hold.manager.cfg.Running.Done()
	a.hold.manager.cfg.InFlight.Done()
}

// abandon ends an attempt before all masters were asked.
func (a *attempt) abandon() {
	a.hold.rollback()
	a.end()
}

// askPilot asks only the pilot for the lock. If it is not granted, the attempt is over.
func (a *attempt) askPilot(ctx context.Context, pilot int, at wire.Place) (granted bool, t wire.Turn, err error) {
	h := a.hold
	w := h.manager.cfg.Wire
	if h.manager.closed() { // no master is asked
		h.claim.Absent = w.Everyone()
		a.abandon()
		return false, wire.Turn{}, context.Cause(h.manager.cfg.Closing)
	}
	limit := w.Patience(pilot, a.patience())
	granted, t, err = w.TakeAt(ctx, &h.claim, pilot, at, h.life.start, limit)
	if granted {
		a.agreed.Add(pilot)
		return true, t, nil
	}
	a.abandon()
	if err == nil && t.Held == nil {
		t, err = h.inTheWay(ctx, pilot, w.Patience(pilot, a.patience()))
	}
	return false, t, err
}

// inTheWay asks a pilot which of several keys it could not grant.
func (h *Hold) inTheWay(ctx context.Context, pilot int, limit time.Duration) (t wire.Turn, err error) {
	if t.Held, err = h.manager.cfg.Wire.HolderAt(ctx, &h.claim, pilot, limit); err == nil {
		t.Held.Key = h.manager.cfg.KeyName(t.Held.Key)
	}
	return t, err
}

// askAll asks the masters that have not granted the attempt yet. It decides and ends it.
func (a *attempt) askAll(ctx context.Context, holders bool) *quorum.Failure {
	defer a.end()
	h := a.hold
	manager := h.manager
	if a.overdue {
		if a.agreed != 0 {
			h.rollback()
		}
		return a.unjudged(ctx)
	}
	ask := manager.cfg.Wire.Acquire(&h.claim, &wire.Try{
		Hold: h, Over: &h.setting, Start: h.life.start,
		Agreed: a.agreed, Wait: a.patience(), Take: a.take, Called: a.called,
	})
	defer ask.Done()
	cause := ask.Wait(ctx, a.patience())

	res := ask.Result()
	now := manager.now()
	h.claim.Absent = res.Absent
	if a.take != nil {
		a.take.Answer = ask.PilotSaid()
	}
	var unfenced *quorum.Failure
	if res.Outcome == quorum.Granted {
		var settled bool
		if unfenced, settled = a.settle(ctx, ask, &res, now); settled {
			return nil
		}
	} else {
		h.rollback()
	}
	if manager.closed() {
		cause = context.Cause(manager.cfg.Closing)
	}
	elapsed := now.Sub(h.life.start)
	if h.claim.Fenced && res.Outcome == quorum.Granted {
		elapsed = manager.now().Sub(h.life.start) // there may have been a second round
	}
	if unfenced != nil && cause == nil {
		unfenced.Others = len(h.Others())
		return unfenced
	}
	f := a.failure(ctx, ask, &res, cause, holders, elapsed)
	if a.again = a.pauseAfter(ctx, f, elapsed); a.again == 0 && res.Outcome != quorum.Granted {
		h.owner.Answered(h.owner.Context(), ask)
	}
	return f
}

// settle makes a hold of a granted attempt, and reports both. It rolls the attempt back if no
// validity is left, if the fencing token cannot be settled, if the client is closed, or if a
// listener panics before the lock is held.
func (a *attempt) settle(
	ctx context.Context, ask *wire.Ask, res *wire.Result, now drift.Instant,
) (unfenced *quorum.Failure, settled bool) {
	h := a.hold
	defer func() {
		if !settled {
			h.rollback()
		}
	}()
	h.owner.Answered(h.owner.Context(), ask)
	if now.Sub(h.life.start) >= h.manager.cfg.Validity(h.claim.TTL) {
		return nil, false
	}
	if h.claim.Fenced {
		if unfenced = a.settleFence(ctx, ask); unfenced != nil {
			return unfenced, false
		}
	}
	h.life.agreed = uint8(res.Tally.OK)
	if settled = h.manager.renewer.add(h); settled {
		h.reportHeld()
	}
	return nil, settled
}

func (a *attempt) failure(
	ctx context.Context, ask *wire.Ask, res *wire.Result, cause error, holders bool, elapsed time.Duration,
) *quorum.Failure {
	h := a.hold
	kind, note := quorum.NoQuorum, ""
	switch res.Outcome {
	case quorum.Granted:
		note = a.tooLong()
	case quorum.Refused:
		if cause == nil && holders && res.Refused != 0 {
			a.askHolders(ctx, ask, res.Refused, elapsed)
		}
		kind = h.refusedAs(ask)
	}
	f := ask.Failure(h.name, kind, cause, a.waited+elapsed)
	f.Others, f.Note = len(h.Others()), note
	return f
}

// leastStep is the smallest step of the clock that a failure mentions.
const leastStep = time.Second

// tooLong says why no validity is left of an attempt that a quorum has granted.
func (a *attempt) tooLong() string {
	now, start := a.hold.manager.now(), a.hold.life.start
	if step := now.Sub(start) - now.MonotonicSub(start); step >= leastStep {
		return fmt.Sprintf("this machine's clock was set forward by %v meanwhile, or it slept: no validity is left",
			step.Round(time.Second))
	}
	return "the answers took so long that no validity is left"
}

// leastWait is added to twice an attempt's time, for a question about the attempt.
const leastWait = 5 * time.Millisecond

// askHolders asks the masters that refused an acquisition who holds the key, and adds
// their answers to those of the acquisition. It waits about as long as the acquisition
// took: a master that is silent now must not delay a decided attempt (L1).
func (a *attempt) askHolders(ctx context.Context, failed *wire.Ask, refused quorum.MasterSet, elapsed time.Duration) {
	h := a.hold
	w := h.manager.cfg.Wire
	ask := w.Holders(&h.claim, w.Everyone()&^refused)
	defer ask.Done()
	_ = ask.Wait(ctx, min(a.patience(), leastWait+2*elapsed))
	failed.Learn(ask, h.manager.cfg.KeyName)
}

// unjudged returns the failure of an attempt that asks no master, as too few may vote.
func (a *attempt) unjudged(ctx context.Context) *quorum.Failure {
	h := a.hold
	manager := h.manager
	f := &quorum.Failure{
		Op: h.claim.Op().String(), Key: h.name, Others: len(h.Others()), Kind: quorum.NoQuorum,
		Need: manager.cfg.Need, Total: len(manager.cfg.Masters), Elapsed: a.waited,
		Note: "too few masters may vote, so none was asked", Cause: quorum.Interrupted(ctx, manager.cfg.Closing),
	}
	now := manager.now()
	for i := range manager.cfg.Masters {
		if why := manager.cfg.Voters.AbstainsNow(i, now); why != nil {
			f.Parts = append(f.Parts, quorum.Part{Master: i, Err: why})
		}
	}
	return f
}

// rollback releases a failed attempt without waiting (L2). It wakes no waiter, as the caller
// retries; only an adoption does.
func (h *Hold) rollback() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life.state = ended
	h.sendRelease(h.claim.Adopts())
}
