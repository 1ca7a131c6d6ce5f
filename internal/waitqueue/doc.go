// Package waitqueue is where the calls of one client wait for a lock that is taken.
//
// It owns the local queues of calls, the client's places in the queues at the keys' pilots,
// and the decision when a call tries again. It makes no attempt itself: an Attempter makes
// them, and owns the handles. Only the masters decide who holds a lock. The queues are
// only advice: if one is lost, no lock is in danger.
//
// # States
//
// A call that waits is a waiter, and is in one of these states. In each state it does one
// thing. The result is an event, which leads to the next state (states.go).
//
//	inLocalQueue  other calls of this client have waited longer for the same key
//	following     a reader before it has found that readers get in: asks all masters as well
//	probing       asks the pilot for the lock at once, because calls waited for the key lately
//	seeking       chooses a pilot, and subscribes to its calls
//	unsubscribed  has no subscription to the pilot yet: pauses, then asks all masters
//	polling       there is no queue to wait in: pauses, then asks all masters
//	asking        asks the pilot for its place in the queue, and so takes a place there
//	placed        a pilot that refused the lock has told it its place
//	queued        sleeps: until it is called, or for 50 to 250 ms, up to 500 ms while the same
//	              holder of this library has the lock, who will call
//	signaled      the pilot has called it, or said so when asked, and keeps the lock for it: asks
//	              all masters at once
//	myTurn        the lock seems to be free: asks the pilot alone, then the others
//	backoff       it is its turn after collisions: pauses
//	checking      asks all masters whether they have the holder's token that the pilot has
//	rechecking    the pilot's key may be stale: asks all masters for the lock
//	elsewhere     one of several keys is wanted: tries some others, and goes to wait for another
//
// The ways between them:
//
//	inLocalQueue -> seeking, probing, following
//	following    -> acquired, inLocalQueue
//	probing      -> acquired, placed, seeking, polling, unsubscribed
//	seeking      -> asking, polling, unsubscribed
//	unsubscribed -> acquired, seeking, inLocalQueue, elsewhere
//	polling      -> acquired, seeking, inLocalQueue, elsewhere
//	asking       -> signaled, myTurn, backoff, queued, rechecking, seeking
//	placed       -> queued, rechecking, asking, polling, unsubscribed
//	queued       -> signaled, myTurn, checking, seeking, elsewhere
//	signaled     -> acquired, placed, seeking, inLocalQueue
//	myTurn       -> acquired, placed, seeking, inLocalQueue
//	backoff      -> myTurn
//	checking     -> seeking, rechecking
//	rechecking   -> acquired, seeking, inLocalQueue
//	elsewhere    -> acquired, inLocalQueue
//
// From each state the end of the context or of the client leads to ended, and so does an
// outage that lasts too long. However it ends, a waiter leaves its queues, and passes on the
// calls that it has not acted on.
//
// A call waits in the local queue of a key that it could not get, whatever lock it wants. Only
// the first of a local queue asks the masters, so a client looks once for each key, however many
// of its calls wait. Each key has a second local queue for readers, since they wait for other
// releases. When it is the readers' turn, all of them ask all masters at once (reader.go).
//
// A waiter for several keys together waits for one key that is held, and moves to another key's
// local queue when that one is held instead (set.go). A waiter for one of several keys waits for
// one of them at a time, and then moves to another (oneof.go).
package waitqueue
