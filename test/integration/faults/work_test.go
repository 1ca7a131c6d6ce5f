package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// waitBound is how long a worker waits for a lock that others use.
const waitBound = 10 * time.Second

// A job is a worker at work.
type job struct {
	*client
	worker
	index  int
	random *rand.Rand
}

// work goes on until the client is stopped.
func (c *client) work(index int, w worker) {
	j := &job{client: c, worker: w, index: index, random: rand.New(rand.NewPCG(c.spec.Seed, uint64(index)))}
	switch w.Do {
	case doMany:
		j.many()
		return
	case doForeign:
		j.foreign()
		return
	}
	for c.ctx.Err() == nil {
		if held := j.turn(); held && w.Do == doPaused {
			return
		}
		j.pause(j.Pace)
	}
}

// pause ends early with the client.
func (j *job) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.ctx.Done():
	}
}

func (j *job) key() string { return j.Keys[j.random.IntN(len(j.Keys))] }

// turn takes a lock once, unless it is refused.
func (j *job) turn() (held bool) {
	ctx, cancel := context.WithTimeout(j.ctx, waitBound)
	defer cancel()
	var opts []redlock.LockOption
	if j.spec.Fencing && !j.Plain {
		opts = append(opts, redlock.WithFencing())
	}
	var l *redlock.Lock
	began, op, shared := now(), opWait, false
	var err error
	switch j.Do {
	case doDo:
		return j.inside(ctx, began, opts)
	case doFair:
		l, err = j.lib.Lock(ctx, j.key(), append(opts, redlock.WithFairness())...)
	case doOwn:
		// This does not use the client's context: an attempt that the end of the load cuts short
		// shows nothing about the masters.
		op = opLock
		l, err = j.lib.TryLock(context.WithoutCancel(ctx), j.key(), opts...)
	case doRead:
		shared = true
		l, err = j.lib.RWMutex(j.key()).RLock(ctx, opts...)
	case doWrite:
		l, err = j.lib.RWMutex(j.key()).Lock(ctx, opts...)
	case doAll:
		first := j.random.IntN(len(j.Keys))
		l, err = j.lib.LockAll(ctx, []string{j.Keys[first], j.Keys[(first+1)%len(j.Keys)]}, opts...)
	case doAny:
		l, err = j.lib.LockAny(ctx, j.Keys, opts...)
	default: // doHot, doHold, doPaused
		l, err = j.lib.Lock(ctx, j.key(), opts...)
	}
	if !j.got(ctx, op, began, err) {
		return false
	}
	h := &hold{job: j, lock: l, name: l.Token()}
	h.begin(shared)
	switch j.Do {
	case doHold:
		h.keep(j.Hold)
	case doPaused:
		h.ignoreTheLoss()
	default:
		h.workUnderTheLock(shared)
	}
	if j.Do == doOwn && j.random.IntN(2) == 0 {
		h.extend()
	}
	h.release()
	return true
}

// inside is a turn of doDo.
func (j *job) inside(ctx context.Context, began instant, opts []redlock.LockOption) (held bool) {
	acquired, over := false, instant(0)
	err := j.lib.Do(ctx, j.key(), func(ctx context.Context) error {
		acquired = true
		j.got(ctx, opWait, began, nil)
		l, _ := redlock.FromContext(ctx)
		h := &hold{job: j, lock: l, name: l.Token()}
		h.begin(false)
		h.workUnderTheLock(false)
		h.stop()
		over = now()
		return nil
	}, opts...)
	if acquired {
		j.reportOp(opUnlock, over, err)
		return true
	}
	return j.got(ctx, opWait, began, err)
}

// got reports an acquisition that has ended, and returns whether it has succeeded. It does not
// report one that the end of the load has cut short.
func (j *job) got(ctx context.Context, op string, began instant, err error) bool {
	if err == nil || ctx.Err() == nil {
		j.reportOp(op, began, err)
		return err == nil
	}
	if j.ctx.Err() == nil {
		j.report(event{Kind: eventOp, Worker: j.index, Op: op, Do: j.Do, At: began, End: now(), Failed: failedContext, Text: err.Error()})
	}
	return false
}

func (j *job) reportOp(op string, began instant, err error) {
	e := event{Kind: eventOp, Worker: j.index, Op: op, Do: j.Do, At: began, End: now()}
	e.classify(err)
	j.report(e)
}

// A hold is a lock that a worker holds, and what it has reported of it.
type hold struct {
	*job
	lock     *redlock.Lock
	name     string  // its name in events
	until    instant // the lock was valid until then when last looked at
	reported instant // the last until that was reported
	proof    instant // the lock was valid then
}

// reportAfter is by how much longer a lock must be valid before that is reported.
const reportAfter = 50 * time.Millisecond

// look reads how long the lock is valid. It errs towards less, because it reads the clock first.
func (h *hold) look() (valid bool) {
	t := now()
	left := h.lock.Remaining()
	if left <= 0 {
		return false
	}
	h.proof, h.until = t, max(h.until, t.add(left))
	return true
}

func (h *hold) begin(shared bool) {
	if !h.look() { // it came late, and is over
		h.proof = now()
		h.until = h.proof
	}
	h.reported = h.until
	h.report(event{
		Kind: eventGrant, Worker: h.index, Hold: h.name, Keys: h.lock.Keys(), Shared: shared,
		At: h.proof, Until: h.until, Fence: h.lock.Fence(),
	})
}

// note reports a lock that has become valid for longer.
func (h *hold) note() (valid bool) {
	valid = h.look()
	if h.until.sub(h.reported) > reportAfter {
		h.report(event{Kind: eventUntil, Hold: h.name, Until: h.until})
		h.reported = h.until
	}
	return valid
}

// keep holds the lock for d, or until it is lost.
func (h *hold) keep(d time.Duration) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	over := time.NewTimer(d)
	defer over.Stop()
	for h.note() {
		select {
		case <-tick.C:
		case <-h.lock.Context().Done():
		case <-over.C:
			return
		case <-h.ctx.Done():
			return
		}
	}
	began := now()
	select {
	case <-h.lock.Context().Done():
	case <-time.After(lateness):
		h.job.reportOp(opContext, began, errors.New("the context of a lost lock has not ended"))
	}
}

// opContext is the end of a lost lock's context, where it did not come in time.
const opContext = "context"

// workUnderTheLock is a read-modify-write of what the lock protects.
func (h *hold) workUnderTheLock(shared bool) {
	r := h.openRegister()
	if r == nil || shared {
		h.pause(h.Hold)
		return
	}
	defer r.close()
	for _, key := range h.lock.Keys() {
		value, ok := r.read(key, h.lock)
		h.pause(h.Hold)
		// Check before the write: no lock can do that for its user.
		if ok && h.look() {
			r.write(key, h.lock, value+1)
		}
	}
}

// ignoreTheLoss acts like a program that never looks at its lock: it reads, waits for the order to
// act, however long that takes, and writes.
func (h *hold) ignoreTheLoss() {
	r := h.openRegister()
	if r == nil {
		return
	}
	defer r.close()
	key := h.lock.Key()
	value, _ := r.read(key, h.lock)
	select {
	case <-h.act:
	case <-h.ctx.Done():
		return
	}
	ended := h.lock.Context().Err() != nil
	accepted := r.write(key, h.lock, value+1)
	e := event{Kind: eventOp, Worker: h.index, Op: opAct, At: h.proof, End: now()}
	if ended {
		e.Failed = failedLost
	}
	if accepted {
		e.Text = "accepted"
	}
	h.report(e)
}

// opAct is a write that ignores whether the lock is held: Failed says whether it
// was lost, Text whether the write was accepted.
const opAct = "act"

func (h *hold) extend() {
	began := now()
	err := h.lock.Extend(context.Background())
	h.job.reportOp(opExtend, began, err)
	h.note()
}

func (h *hold) release() {
	h.stop()
	began := now()
	h.job.reportOp(opUnlock, began, h.lock.Unlock(context.Background()))
}

// stop reports that the worker no longer relies on the lock. If the lock is valid, it has relied
// on it until now.
func (h *hold) stop() {
	end := event{Kind: eventEnd, Hold: h.name}
	if h.look() {
		end.At = h.proof
	} else {
		end.Failed = failedLost
		end.At = h.until // it was valid until then, as far as is known,
		if now() < h.until {
			end.At = h.proof // or somebody has said earlier that it is gone
		}
		end.Text = "lost"
		if cause := context.Cause(h.lock.Context()); cause != nil {
			end.Text = cause.Error()
		}
	}
	end.End = now()
	h.report(end)
}
