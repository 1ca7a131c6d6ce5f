// Package waitqueue is where the calls of one client wait for a lock that is taken.
//
// It owns the lines of calls in the process, the client's places in the advisory queues at
// the keys' pilots, and when a call tries again. It makes no attempt itself: a Caller does,
// and owns the handles. Who holds a lock is decided by the masters alone. Everything here
// is advice, and may be lost.
//
// # States
//
// A call that waits is a waiter, and is in one of these states. In each it does one thing;
// what comes of that is an event, and leads to the next state (states.go).
//
//	inLine    others of this client wait longer for the same
//	knocking  asks the pilot for the lock at once, since the key was waited for lately
//	seeking   chooses a pilot, and has its calls heard
//	deaf      the pilot's calls are not heard yet: pauses, then asks all masters
//	blind     there is no queue to wait in: pauses, then asks all masters
//	asking    asks the pilot where it stands in the queue, and so takes a place there
//	told      has heard that from a pilot which refused the lock
//	queued    sleeps: until it is called, or for 50 to 250 ms
//	called    the pilot has called, and keeps the lock for it: asks all masters together
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
