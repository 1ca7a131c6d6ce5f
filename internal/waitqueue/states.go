package waitqueue

// A state is where a call that waits stands. doc.go has the picture; a test compares it
// with the table below.
type state uint8

// States.
const (
	inLocalQueue state = iota // others of this client wait longer for the same
	following                 // a reader: readers get in now, and it asks all masters as they do
	probing                   // the key was waited for lately: asks the pilot for the lock before anything else
	seeking                   // chooses a pilot, and has its calls heard
	unsubscribed              // the pilot's calls are not heard yet: pauses, then asks all masters
	polling                   // there is no queue to wait in: pauses, then asks all masters
	asking                    // asks the pilot where it stands in the queue
	placed                    // the pilot has refused the lock, and said where it stands
	queued                    // sleeps in the queue
	signaled                  // the pilot has called: asks it and the others together
	myTurn                    // the lock seems to be free: asks the pilot alone, then the others
	backoff                   // its turn again after collisions: pauses
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
	cameFirst      event = iota // nobody of this client waits longer
	cameFirstAgain              // the same, and the key was waited for lately
	readersGetIn                // the first of the readers' local queue says so

	found        // the pilot is there, as before
	foundAnother // another master is the pilot now, or its calls were not heard for a while
	noQueue      // no pilot is there, or no quorum
	unheard      // a pilot is there, and its calls are not heard yet
	subscribed   // they are now

	silent    // the pilot did not answer, or refused its queue
	behind    // others are before it, or the lock is held
	ours      // the lock is free, and it is this waiter's turn
	oursAgain // the same, after collisions
	stale     // the pilot's key is that of a holder who has let go, or may be

	timer      // nobody woke it
	overdue    // nobody woke it, for so many times in a row
	released   // somebody gave the lock back
	pilotCalls // the pilot says so, and keeps the lock for it
	longEnough // it has waited for this key, of several, for as long as it stays
	pauseOver  //

	won         // the lock
	failed      // an attempt failed, and nothing was learnt of the queue
	moved       // an attempt failed, and it goes on with another key
	refused     // an attempt failed at the pilot, which said where the waiter stands
	interrupted // the context, or the client, has ended
	inVain      // no quorum could be had for too long
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

// after is the state that follows.
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
	return seeking // which finds out everything anew; no state's action comes to this
}

// listens reports whether the call of any master for the key wakes the waiter: there is no
// queue in which it would be called again.
func (s state) listens() bool { return s == polling || s == unsubscribed }
