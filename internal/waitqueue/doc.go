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
//	inLine    other calls of this client have waited longer for the same lock
//	knocking  asks the pilot for the lock at once, because calls waited for the key lately
//	seeking   chooses a pilot, and subscribes to its calls
//	deaf      has no subscription to the pilot yet: pauses, then asks all masters
//	blind     there is no queue to wait in: pauses, then asks all masters
//	asking    asks the pilot for its place in the queue, and so takes a place there
//	told      a pilot that refused the lock has told it its place
//	queued    sleeps: until it is called, or for 50 to 250 ms
//	called    the pilot has called it and keeps the lock for it: asks all masters at once
//	ourTurn   the lock seems to be free: asks the pilot alone, then the others
//	collided  it is its turn after collisions: pauses
//	doubting  the pilot's key may be stale: asks all masters
//
// The ways between them:
//
//	inLine    -> seeking, knocking
//	knocking  -> acquired, told, seeking, blind, deaf
//	seeking   -> asking, ourTurn, collided, blind, deaf
//	deaf      -> acquired, seeking
//	blind     -> acquired, seeking
//	asking    -> ourTurn, collided, queued, doubting, seeking, blind
//	told      -> ourTurn, collided, queued, doubting, asking, blind, deaf
//	queued    -> called, ourTurn, doubting, seeking
//	called    -> acquired, told, seeking
//	ourTurn   -> acquired, told, seeking
//	collided  -> ourTurn
//	doubting  -> acquired, seeking
//
// From each of them the end of the context or of the client leads to ended, and so does an
// outage that lasts too long. However it ends, a waiter leaves its queues, and passes on the
// calls that it has not acted on.
//
// A reader is in no line and does not knock: readers are called together, and each asks all
// masters then (reader.go).
//
// A waiter for several keys together stands in the queue of one key that is in the way, and
// moves (set.go). A waiter for one of several keys stands in the queues of all (anyof.go): it
// may find at once, when it seeks, that it was called for one of them.
package waitqueue
