package waitqueue

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A waiter is a call that waits. While other calls of this client have waited longer for the
// same lock, it does nothing. Then it queues at the key's pilot and sleeps until a release of
// another client, a release of this client or a timer wakes it. The timer is there because
// the queue is only advice: the pilot may be down, or a message lost. The waiter belongs to
// the call's goroutine.
type waiter struct {
	room      *Room
	want      Options
	attempter Attempter
	queue     queue

	state    state
	key      string // the key that it waits for: one of the keys that it wants
	again    bool   // calls waited for that key lately
	behind   bool   // calls of this client came first, and met no outage
	ticket   *ticket
	listener *Subscribed // set when it came first for the first time
	since    time.Time   // when it came first for the first time
	stay     time.Time   // until when it waits for this key, if one of several is wanted

	before   outage          // of attempts that it made before it was first in this queue
	out      *outage         // shared with the calls behind it
	last     *quorum.Failure // of the last attempt, with what the pilot said since; the call returns it
	refusals quorum.Refusals // masters that refused this call a queue
	counts   counts
}

// counts has a waiter's counters.
type counts struct {
	attempts   int
	pauses     int // pauses that it had to make
	looks      int // at pilots since it last asked all masters
	same       int // looks in a row that found the same holder, which will call the next one
	collisions int // attempts in a row that failed after the pilot's grant
	losses     int // turns of a set without success, in a row
	stays      int // keys that it has waited for, of several
}

// A queue is how a waiter uses the queue of its key: that of writers, or that of readers. What
// it does in a state is a method that returns the event.
type queue interface {
	// localQueue returns the name of its local queue, which pilots use in their calls.
	localQueue() string
	// seek chooses a pilot.
	seek() event
	// ask asks the pilot for the waiter's place, and keeps it.
	ask(ctx context.Context) event
	// check asks all masters whether the holder that the pilot names may be gone.
	check(ctx context.Context) event
	// judge says what the last answer means.
	judge() event
	// sleep waits to be called.
	sleep(ctx context.Context) event
	// take asks the pilot alone for the lock, and then the others. onlyFirst: the pilot grants
	// it only if nobody else is first.
	take(ctx context.Context, onlyFirst bool) event
	// takeTogether asks the pilot and the others at once.
	takeTogether(ctx context.Context) event
	// hear notes a pilot's call, and reports whether the waiter has to wake for it.
	hear(call WakeUp) bool
	// ready is closed when the subscription to the pilot's calls is ready; nil: there is
	// nothing to wait for.
	ready() <-chan struct{}
	// leave gives up all places at pilots. It passes on the calls on which the waiter has not
	// acted.
	leave()
}

func newWaiter(r *Room, want Options, c Attempter, key string, again bool) *waiter {
	w := &waiter{room: r, want: want, attempter: c, key: key, again: again}
	if w.queue = (&oneKey{w: w, pilot: quorum.NoPilot}); want.Kind == wire.Reader {
		w.queue = &reader{oneKey{w: w, pilot: quorum.NoPilot}}
	}
	if want.oneOf() {
		c.At(key)
	}
	return w
}

// wait waits for the key and acquires it. It returns when it has, when an outage lasts too
// long, or when ctx or the client ends.
func (w *waiter) wait(ctx context.Context) *quorum.Failure {
	w.ticket = w.room.localQueues.join(w.queue.localQueue())
	defer w.ticket.leave()
	defer w.end()
	for {
		w.state = w.state.after(w.act(ctx))
		switch w.state {
		case acquired:
			return nil
		case ended:
			return w.last
		default:
		}
	}
}

// act does what a waiter does in its state, and returns the resulting event.
func (w *waiter) act(ctx context.Context) event {
	switch w.state {
	case inLocalQueue:
		return w.awaitTurn(ctx)
	case following:
		return w.attempted(w.attempter.Called(ctx), false)
	case probing:
		if e := w.queue.seek(); e != found && e != foundAnother {
			return e
		}
		return w.queue.take(ctx, true)
	case seeking:
		return w.queue.seek()
	case unsubscribed, polling:
		return w.tryPolling(ctx)
	case asking:
		return w.queue.ask(ctx)
	case placed:
		if e := w.queue.seek(); e != found {
			return e
		}
		return w.queue.judge()
	case queued:
		return w.queue.sleep(ctx)
	case signaled:
		return w.queue.takeTogether(ctx)
	case myTurn:
		return w.queue.take(ctx, false)
	case backoff:
		return w.pauseAfterCollision(ctx)
	case checking:
		return w.queue.check(ctx)
	case elsewhere:
		return w.tryOthers(ctx)
	default: // rechecking
		return w.tryAll(ctx)
	}
}

// awaitTurn waits until no other call of this client has waited longer for the same, or
// until readers get in.
func (w *waiter) awaitTurn(ctx context.Context) event {
	for {
		switch s := w.ticket.state(); {
		case s.err != nil:
			w.last = w.ownOf(s.err)
			return inVain
		case s.letIn:
			return readersGetIn
		case s.first:
			w.begin()
			if w.again && w.want.Kind == wire.Plain {
				return cameFirstAgain
			}
			return cameFirst
		}
		w.counts.losses, w.behind = 0, true
		select {
		case <-w.ticket.signal:
		case <-ctx.Done():
			return w.interrupted(ctx.Err())
		case <-w.room.cfg.Closing.Done():
			return w.interrupted(context.Cause(w.room.cfg.Closing))
		}
	}
}

// ownOf returns the failure of a call before this one with this call's keys, which may differ.
func (w *waiter) ownOf(f *quorum.Failure) *quorum.Failure {
	mine, own := w.attempter.Taken(quorum.NoPilot, nil), *f
	own.Key, own.Others = mine.Key, mine.Others
	return &own
}

// begin is called when the waiter has become the first of its local queue.
func (w *waiter) begin() {
	if w.listener == nil {
		w.since, w.listener = time.Now(), w.room.hub.Wait()
	}
	w.beginStay()
	if w.out = w.ticket.outage(); w.out.failures == 0 {
		*w.out = w.before
	}
	w.behind = w.behind && w.out.failures == 0
}

func (w *waiter) end() {
	defer w.queue.leave()
	if w.listener == nil {
		return
	}
	defer w.listener.Leave()
	if waited := w.counts.pauses > 0; w.want.Kind != wire.Reader && (waited || w.want.Kind == wire.Plain) {
		w.room.recent.note(w.key, waited)
	}
	if w.state == acquired && w.want.Kind == wire.Reader {
		w.ticket.letOthersIn()
	}
}

func (w *waiter) tryAll(ctx context.Context) event {
	w.counts.looks = 0
	failed := w.attempter.All(ctx, true)
	return w.attempted(failed, w.isOver(failed))
}

// tryPolling pauses and then asks all masters, while there is no queue to wait in.
func (w *waiter) tryPolling(ctx context.Context) event {
	if w.hasStayed() {
		return longEnough
	}
	delay := time.Duration(0)
	if w.last != nil {
		delay = w.room.retryDelay(&w.want, w.counts.attempts, w.out.failures, w.last)
	}
	var ready <-chan struct{}
	if w.state == unsubscribed {
		ready = w.queue.ready()
	}
	w.pausing(delay)
	sleep := func(d time.Duration, ready <-chan struct{}) error {
		_, cause := w.sleep(ctx, d, ready)
		return cause
	}
	if cause := w.room.pauseBetween(w.out, &w.want, delay, ready, sleep); cause != nil {
		return w.interrupted(cause)
	}
	if ready != nil && isClosed(ready) {
		return subscribed
	}
	w.counts.looks = 0
	failed := w.room.yieldAtPilot(ctx, &w.want, w.attempter, w.key)
	if failed == nil {
		failed = w.attempter.All(ctx, true)
	}
	return w.attempted(failed, w.isOver(failed))
}

// isOver notes an answer of all masters. It reports whether the answer ends the waiting,
// also of the calls behind this one.
func (w *waiter) isOver(failed *quorum.Failure) (over bool) {
	if failed == nil || failed.Cause != nil {
		return false
	}
	if over = w.room.note(w.out, failed); over {
		w.ticket.fail(failed)
	}
	return over
}

// attempted reports an attempt, and says what it means. over: it ends the waiting.
func (w *waiter) attempted(f *quorum.Failure, over bool) event {
	w.counts.attempts++
	w.attempter.Attempted(w.counts.attempts, f)
	switch {
	case f == nil:
		return won
	case f.Cause != nil:
		// Otherwise an earlier failure says more, or that calls of this client came first.
		if w.last == nil && !(w.behind && w.room.quorumVotes()) {
			w.last = f
		}
		return w.interrupted(f.Cause)
	}
	w.last = f
	switch {
	case over:
		return inVain
	case w.follow(f):
		return moved
	default:
		return failed
	}
}

// attemptedAt does the same after the pilot has answered with a turn.
func (w *waiter) attemptedAt(f *quorum.Failure, over bool) event {
	if e := w.attempted(f, over); e != failed {
		return e
	}
	return refused
}

// together acts on the result of an attempt that asked a key's pilot and the others at once.
// heard: the pilot has answered with a turn.
func (w *waiter) together(master int, key string, said *wire.PilotAnswer, f *quorum.Failure) (e event, heard bool) {
	over := w.isOver(f)
	switch {
	case f == nil:
		w.counts.collisions = 0
	case said.Granted:
		w.counts.collisions++
	case said.Answered && !over:
		return w.refusedTogether(master, key, said, f)
	}
	return w.attempted(f, over), false
}

// refusedTogether adds the pilot's answer to the failure: the pilot may know the holder.
func (w *waiter) refusedTogether(
	master int, key string, said *wire.PilotAnswer, f *quorum.Failure,
) (e event, heard bool) {
	if f.Cause == nil {
		w.last = f
	}
	heard, cause := w.note(master, key, &said.Turn, said.Err)
	switch {
	case f.Cause != nil:
	case cause != nil:
		f.Cause = cause
	default:
		f = w.last
	}
	if heard {
		return w.attemptedAt(f, false), true
	}
	return w.attempted(f, false), false
}

// interrupted makes the failure of a wait that was cut short.
func (w *waiter) interrupted(cause error) event {
	if w.last == nil {
		w.last = w.attempter.Taken(quorum.NoPilot, nil)
		w.last.Note = "calls of this client came first"
	}
	w.last.Cause = cause
	return interrupted
}

// note notes the answer of a key's pilot, if there is one. cause is what ended the waiting.
func (w *waiter) note(master int, key string, t *wire.Turn, err error) (heard bool, cause error) {
	switch {
	case err == nil:
		w.learn(master, key, t.Held)
		return true, nil
	case errors.Is(err, pipeline.ErrTimeout): // passed over until it answers
	case errors.Is(err, pipeline.ErrConnectionLost), errors.Is(err, pipeline.ErrDown),
		errors.Is(err, pipeline.ErrStalled): // passed over until it is connected
	case w.room.ends(err):
		return false, err
	default:
		w.refusals.Add(w.room.cfg.Pilots, master)
		w.room.cfg.Pilots.Forbidden(master, err)
	}
	return false, nil
}

// learn adds what a pilot says of the holder to the failure of the last attempt. It makes a
// copy, because other calls may have that failure already.
func (w *waiter) learn(master int, key string, held *quorum.Held) {
	if held.Type == "none" || held.Type == wire.CalledType || w.last != nil && w.last.Kind != quorum.Taken {
		return
	}
	if held.Key == "" && len(w.want.Keys) > 1 {
		held.Key = w.room.name(key)
	}
	now := w.attempter.Taken(master, held)
	if w.last != nil {
		now.OK, now.Agreed, now.Elapsed = w.last.OK, w.last.Agreed, w.last.Elapsed
		for _, p := range w.last.Parts {
			if p.Master != master {
				now.Parts = append(now.Parts, p)
			}
		}
	}
	w.last = now
}

// name returns the caller's name for a key.
func (r *Room) name(key string) string { return strings.TrimPrefix(key, r.cfg.Prefix) }

// age returns how long the call has waited. A queue takes this as a score, because the clocks
// of masters may differ.
func (w *waiter) age() any {
	return "+" + strconv.FormatInt(time.Since(w.since).Microseconds(), 10)
}

// pauseAfterCollision pauses, so that calls that split the votes again and again get out of
// step. Calls that see different pilots can split votes.
func (w *waiter) pauseAfterCollision(ctx context.Context) event {
	most := 8
	if w.want.isSet() {
		most = 3 // sets meet each other's attempts more often
	}
	limit := time.Millisecond << min(w.counts.collisions, most)
	if cause := w.room.pause(ctx, w.room.cfg.Chance.N("collision", limit), nil); cause != nil {
		return w.interrupted(cause)
	}
	return pauseOver
}

// itsTurn returns the event of a turn: after collisions a pause comes first.
func (w *waiter) itsTurn() event {
	if w.counts.collisions < 2 {
		return ours
	}
	return oursAgain
}
