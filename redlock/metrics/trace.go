package metrics

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/redlock"
)

// Trace is what the client has to be given (redlock.WithTrace). Others may be
// joined to it by redlock.JoinTraces.
func (r *Recorder) Trace() *redlock.Trace {
	return &redlock.Trace{
		Begin:    r.begin,
		Attempt:  r.attempt,
		Reply:    r.reply,
		Retry:    r.retry,
		Wait:     r.wait,
		Held:     r.held,
		Renewal:  r.renewal,
		Extend:   r.extend,
		Lost:     r.lost,
		Released: r.released,
		Unlock:   r.unlock,
	}
}

func (r *Recorder) begin(_ context.Context, i redlock.BeginInfo) context.Context {
	r.class(i.Key).waiting.Add(1)
	return nil
}

func (r *Recorder) attempt(i redlock.AttemptInfo) {
	r.class(i.Key).attempts[callResult(i.Err)].Add(1)
}

func (r *Recorder) retry(i redlock.RetryInfo) {
	reason := 0
	if errors.Is(i.Err, redlock.ErrNoQuorum) {
		reason = 1
	}
	r.class(i.Key).retries[reason].Add(1)
}

func (r *Recorder) wait(i redlock.WaitInfo) {
	c := r.class(i.Key)
	c.waiting.Add(-1)
	if i.Attempts == 0 && i.Err == nil {
		c.reentered.Add(1)
		return
	}
	if i.Attempts > 1 || errors.Is(i.Err, redlock.ErrTaken) {
		c.contended.Add(1)
	}
	c.waits[callResult(i.Err)].observe(waitBounds, i.Waited)
}

func (r *Recorder) held(_ context.Context, i redlock.HeldInfo) context.Context {
	r.class(i.Key).held.Add(1)
	return nil
}

func (r *Recorder) released(i redlock.ReleasedInfo) {
	c := r.class(i.Key)
	c.held.Add(-1)
	if n := int(i.End) - 1; n >= 0 && n < len(holdEnds) {
		c.holds[n].observe(holdBounds, i.Held)
	}
}

func (r *Recorder) renewal(i redlock.RenewalInfo) {
	c := r.class(i.Key)
	c.renewals[keepResult(i.Err)].Add(1)
	c.renewing.observe(replyBounds, i.Elapsed)
}

func (r *Recorder) extend(i redlock.ExtendInfo) {
	r.class(i.Key).extensions[indexOf(extendOps[:], i.Op)][keepResult(i.Err)].Add(1)
}

func (r *Recorder) lost(l *redlock.Lock, err *redlock.LostError) {
	if n := int(err.Reason) - 1; n >= 0 && n < len(lossReasons) && !err.Planned {
		r.class(l.Key()).losses[n].Add(1)
	}
}

func (r *Recorder) unlock(i redlock.UnlockInfo) {
	r.class(i.Key).unlocks[unlockResult(i.Err)].observe(replyBounds, i.Elapsed)
}

// reply is called by the goroutines that read the masters' connections.
func (r *Recorder) reply(i redlock.ReplyInfo) {
	m := r.master(i.Master)
	result := replyFailed
	switch {
	case i.Expired:
		result = replyTimeout
	case i.Result == redlock.ReplyAgreed:
		result = replyAgreed
	case i.Result == redlock.ReplyRefused:
		result = replyRefused
	}
	m.replies[indexOf(replyOps[:], i.Op)][result].Add(1)
	if i.Sent {
		m.latency.observe(replyBounds, i.Latency)
	}
}
