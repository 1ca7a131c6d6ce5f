package waitqueue

// A state says what a waiting call does now. doc.go shows the transitions; a test compares it
// with the table below.
type state uint8

// States.
const (
	inLocalQueue state = iota // other calls of this client have waited longer for the key
	following                 // a reader: readers get in now, so it asks all masters too
	probing                   // calls waited for the key lately: asks the pilot for the lock first
	seeking                   // chooses a pilot, and subscribes to its calls
	unsubscribed              // has no subscription to the pilot yet: pauses, then asks all masters
	polling                   // there is no queue to wait in: pauses, then asks all masters
	asking                    // asks the pilot for its place in the queue
	placed                    // the pilot has refused the lock, and named its place
	queued                    // sleeps in the queue
	signaled                  // the pilot has called: asks it and the others together
	myTurn                    // the lock seems to be free: asks the pilot alone, then the others
	backoff                   // it is its turn after collisions: pauses
	checking                  // asks all masters whether they have the holder's token that the pilot has
	rechecking                // the pilot's key may be stale: asks all masters for the lock
	elsewhere                 // one of several keys is wanted: tries others, and goes to wait for another
	acquired
	ended
)

// An event is the result of what a waiter did in a state.
type event uint8

// Events.
const (
	cameFirst      event = iota // no call of this client has waited longer
	cameFirstAgain              // the same, and calls waited for the key lately
	readersGetIn                // the first of the readers' local queue lets the others in

	found        // the pilot is there, as before
	foundAnother // another master is the pilot now, or its calls may have been missed
	noQueue      // no pilot is there, or no quorum
	unheard      // a pilot is there, but the subscription is not ready
	subscribed   // the subscription is ready

	silent    // the pilot did not answer, or refused its queue
	behind    // others are before it, or the lock is held
	ours      // the lock is free, and it is this waiter's turn
	oursAgain // the same, after collisions
	stale     // the pilot may still have the key of a holder that has released it

	timer      // no call woke it
	overdue    // no call woke it, so many times in a row
	released   // the lock was released
	pilotCalls // the pilot calls, and keeps the lock for it
	longEnough // one of several keys: it has waited long enough for this one
	pauseOver  //

	won         // the lock is acquired
	failed      // an attempt failed without news of the queue
	moved       // it goes on with another key
	refused     // an attempt failed, and the pilot answered with a turn
	interrupted // the context, or the client, has ended
	inVain      // there was no quorum for too long
)

// ways are the transitions. From each state interrupted and inVain lead to ended, and
// won to acquired.
var ways = [...]map[event]state{
	inLocalQueue: {cameFirst: seeking, cameFirstAgain: probing, readersGetIn: following},
	following:    {failed: inLocalQueue},
	probing:      {noQueue: polling, unheard: unsubscribed, silent: seeking, refused: placed, failed: seeking},
	seeking:      {found: asking, foundAnother: asking, noQueue: polling, unheard: unsubscribed},
	unsubscribed: {subscribed: seeking, failed: seeking, moved: inLocalQueue, longEnough: elsewhere},
	polling:      {failed: seeking, moved: inLocalQueue, longEnough: elsewhere},
	asking: {
		pilotCalls: signaled, ours: myTurn, oursAgain: backoff, behind: queued, stale: rechecking, silent: seeking,
	},
	placed:     {behind: queued, stale: rechecking, foundAnother: asking, noQueue: polling, unheard: unsubscribed},
	queued:     {timer: seeking, overdue: checking, released: myTurn, pilotCalls: signaled, longEnough: elsewhere},
	signaled:   {refused: placed, failed: seeking, moved: inLocalQueue},
	myTurn:     {refused: placed, failed: seeking, silent: seeking, moved: inLocalQueue},
	backoff:    {pauseOver: myTurn},
	checking:   {timer: seeking, stale: rechecking},
	rechecking: {failed: seeking, moved: inLocalQueue},
	elsewhere:  {moved: inLocalQueue},
}

// after returns the state that follows.
func (s state) after(e event) state {
	switch e {
	case won:
		return acquired
	case interrupted, inVain:
		return ended
	}
	if next, ok := ways[s][e]; ok {
		return next
	}
	return seeking // it finds out everything anew; no action leads to this
}

// listens reports whether a call of any master wakes the waiter: no queue would call it again.
func (s state) listens() bool { return s == polling || s == unsubscribed }
