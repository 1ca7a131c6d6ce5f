// Package waitqueue is where the calls of one client wait for a lock that is taken.
//
// It owns the lines of calls in the process, the client's places in the queues at the
// keys' pilots, and when a call tries again. It makes no attempt itself: a Caller makes
// them, and owns the handles. Only the masters decide who holds a lock. The queues are
// only advice: if one is lost, no lock is in danger.
//
// # States
//
// A call that waits is a waiter, and is in one of these states. In each state it does one
// thing. The result is an event, which leads to the next state (states.go).
//
//	inLine       other calls of this client have waited longer for the same key
//	comingAlong  a reader before it has found that readers get in: asks all masters as well
//	knocking     asks the pilot for the lock at once, because calls waited for the key lately
//	seeking      chooses a pilot, and subscribes to its calls
//	deaf         has no subscription to the pilot yet: pauses, then asks all masters
//	blind        there is no queue to wait in: pauses, then asks all masters
//	asking       asks the pilot for its place in the queue, and so takes a place there
//	told         a pilot that refused the lock has told it its place
//	queued       sleeps: until it is called, or for 50 to 250 ms
//	called       the pilot has called it, or told it so, and keeps the lock for it: asks all masters at once
//	ourTurn      the lock seems to be free: asks the pilot alone, then the others
//	collided     it is its turn after collisions: pauses
//	doubting     the pilot's key may be stale: asks all masters
//
// The ways between them:
//
//	inLine      -> seeking, knocking, comingAlong
//	comingAlong -> acquired, inLine
//	knocking    -> acquired, told, seeking, blind, deaf
//	seeking     -> asking, ourTurn, collided, blind, deaf
//	deaf        -> acquired, seeking, inLine
//	blind       -> acquired, seeking, inLine
//	asking      -> called, ourTurn, collided, queued, doubting, seeking, blind
//	told        -> queued, doubting, asking, blind, deaf
//	queued      -> called, ourTurn, doubting, seeking
//	called      -> acquired, told, seeking, inLine
//	ourTurn     -> acquired, told, seeking, inLine
//	collided    -> ourTurn
//	doubting    -> acquired, seeking, inLine
//
// From each of them the end of the context or of the client leads to ended, and so does an
// outage that lasts too long. However it ends, a waiter leaves its queues, and passes on the
// calls that it has not acted on.
//
// A call stands in the line of the key that is in its way, whatever it wants. Only the first of
// a line asks the masters, so a client looks once for each key, however many of its calls wait.
// Readers have a line of their own beside each key's, since they wait for other releases. When
// it is the readers' turn all of them ask all masters at once (reader.go).
//
// A waiter for several keys together waits for one key that is in the way, and moves to
// another key's line (set.go). A waiter for one of several keys stands in the lines of all, and
// in the queues of those for which it is the first (anyof.go): it may find at once, when it
// seeks, that it was called for one of them.
package waitqueue
