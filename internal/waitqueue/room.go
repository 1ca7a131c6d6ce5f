package waitqueue

import (
	"context"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Masters returns a client's masters as the room uses them.
func Masters[M Master](masters []M) []Master {
	all := make([]Master, len(masters))
	for i, m := range masters {
		all[i] = m
	}
	return all
}

// Queues gives access to the queues at the keys' pilots. *wire.Wire implements it.
type Queues interface {
	WaitAt(ctx context.Context, pilot int, key string, score any, limit time.Duration) (wire.Turn, error)
	LeaveQueue(pilot int, key string)
	LookAt(pilot int, key string) wire.Look
	StillHeld(ctx context.Context, key, token string, limit time.Duration) (held bool, cause error)
	WaitToRead(ctx context.Context, pilot int, key string, score any, limit time.Duration) (wire.Turn, error)
	LeaveReaders(pilot int, key string)
	Patience(master int, most time.Duration) time.Duration
}

// Voters says when a quorum begins to vote. *voters.Monitor implements it.
type Voters interface {
	Begins(since time.Time) <-chan struct{}
	AddWaiting(n int)
}

// Config has what all calls of a client share.
type Config struct {
	Masters []Master
	Need    int // masters that make a quorum
	Pilots  *quorum.Chooser
	Voters  Voters
	Queues  Queues
	// ID is the client's name in queues, as in wire.Config.
	ID string
	// Prefix begins all keys. Failures name them without it.
	Prefix string
	// OutageWait is how long a call waits while there is no quorum.
	OutageWait time.Duration
	Chance     *chance.Source
	Closing    context.Context // its end ends every wait, with its cause
}

// A Room is where the calls of one client wait. It is safe for concurrent use after Init. It
// implements wire.Successors.
type Room struct {
	cfg         Config
	localQueues localQueues
	recent      recent
	hub         *Hub // listens to the pilots' calls
}

// Init makes the room in place, without any connection. cfg.Queues may know the room already, as
// its wire.Successors.
func (r *Room) Init(cfg Config) {
	r.cfg, r.recent.since = cfg, time.Now()
	r.hub = NewHub(cfg.Masters, cfg.ID, r.called)
}

// AwaitLeave blocks until all calls that wait have left the queues of the pilots, for limit at
// most. Closing has to be done, so that they leave at once. The commands for that are then
// queued, but perhaps not sent. Only one goroutine may call it.
func (r *Room) AwaitLeave(limit time.Duration) { r.localQueues.awaitNone(limit) }

// Close ends the subscriptions and waits for them. Closing has to be done. It may be called
// more than once.
func (r *Room) Close() { r.hub.Close() }

// Waiting returns how many calls wait.
func (r *Room) Waiting() int { return int(r.localQueues.waiting.Load()) }

// Acquire acquires what the call wants. It blocks until that is done, until an outage has
// lasted for OutageWait, or until ctx or Closing ends. nil: the caller has the lock. Otherwise
// the result is the failure of the last attempt, with the Cause that ended the waiting. Other
// calls may get the same failure, so do not change it.
//
// While nobody waits, it is one attempt by the caller, and allocates nothing itself.
func (r *Room) Acquire(ctx context.Context, want *Options, c Attempter) *quorum.Failure {
	if !want.queues() {
		return r.poll(ctx, want, c)
	}
	if want.oneOf() {
		return r.acquireOneOf(ctx, want, c)
	}
	key, lately := r.recent.among(want)
	if want.Kind == wire.Reader { // it takes no votes from the client whose turn it is: writers that wait keep it out
		lately = false
	}
	// The call waits at once if an attempt would mostly fail, or if it must not overtake others.
	pilotFirst := lately || want.Fair && want.Kind != wire.Plain
	behind, occupied := r.localQueues.occupied(want)
	if occupied {
		key = behind
	}
	if pilotFirst || occupied {
		return newWaiter(r, *want, c, key, pilotFirst).wait(ctx)
	}
	failed := r.yieldAtPilot(ctx, want, c, key)
	if failed == nil {
		failed = c.All(ctx, want.isSet())
	}
	return r.waitAfter(ctx, want, c, key, failed)
}

// waitAfter reports a first attempt without a place in the queue, and waits if it has failed.
func (r *Room) waitAfter(
	ctx context.Context, want *Options, c Attempter, key string, failed *quorum.Failure,
) *quorum.Failure {
	var out outage
	over := failed != nil && r.note(&out, failed)
	c.Attempted(1, failed)
	if failed == nil || failed.Cause != nil || over {
		return failed
	}
	w := newWaiter(r, *want, c, key, false)
	w.counts.attempts, w.last, w.before = 1, failed, out
	w.follow(failed)
	return w.wait(ctx)
}

// AnybodyWaits implements wire.Successors.
func (r *Room) AnybodyWaits() bool { return r.localQueues.anybody() }

// Released implements wire.Successors. If another client was called, the calls here wait on:
// otherwise one process would starve the others.
func (r *Room) Released(pilot int, key string, to wire.Successor) {
	switch to {
	case wire.AnotherClient: // the next call here has to come after that client
		r.recent.note(key, true)
	case wire.ThisClient:
		r.called(WakeUp{Master: pilot, Key: key})
	default: // a call that is in no queue, or in one at another master, may wait here
		if r.localQueues.anybody() && !r.localQueues.wakeFirst(key) {
			r.localQueues.wakeFirst(ReadersPrefix + key)
		}
	}
}

// called passes on a pilot's call to the first call that waits here for the key, or else to
// the next client in the queue.
func (r *Room) called(c WakeUp) {
	if !r.localQueues.call(c) {
		r.passOn(c)
	}
}

// passOn leaves the queue of a pilot, which calls the next client there.
func (r *Room) passOn(c WakeUp) {
	if key, ok := strings.CutPrefix(c.Key, ReadersPrefix); ok {
		r.cfg.Queues.LeaveReaders(c.Master, key)
		return
	}
	r.cfg.Queues.LeaveQueue(c.Master, c.Key)
}

// quorumVotes reports whether a quorum of the masters may vote. Without one, a pilot's answer that
// a key is taken would hide an outage.
func (r *Room) quorumVotes() bool { return r.cfg.Pilots.Voting() >= r.cfg.Need }
