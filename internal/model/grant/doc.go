// Package grant explores a release that grants the lock to the client that waits next:
// the release sets the key to that client's token, and each master tells it. It visits
// every state that three masters and two or three clients can get into, breadth first,
// and checks mutual exclusion and what belongs to it. It is a model of a protocol that the
// library does not have (docs/explanation/decisions.md, "The release does not grant the lock").
//
// # The protocol
//
// A client that waits has a token, sent before it waits. The release of a holder names one such
// token. Each master executes it as one script: where the key is the holder's, it gets
// the waiter's token and TTL, and the master publishes that to the waiter. Where nobody
// receives the message, the key is deleted. The waiter holds the lock when a quorum of
// masters has told it so, for what is left of the TTL since that token was sent. Each rule of
// this is a Mistake here, which leaves it out.
//
// # What is modelled
//
// Time passes in ticks. A tick may be two for a master's clock, each at most so often in the
// life of one timer. A master is a key with an owner and a time to live, a quarantine after a
// restart, and if so configured a fence or a lease record. A clock that jumps, and
// is corrected again, takes the key away and leaves the record.
//
// A client makes one attempt after another, each with a fresh token. It waits with this
// token, and at the same time asks all masters for the lock with SET NX, as every client
// does: each of these commands may never be executed, and then it only waits. Votes of both kinds count
// together. It gives up whenever it likes, and at the latest when no validity could be left. A
// holder releases in the plain way, or to any other client by its latest token, whether
// that still waits or has long given up: who is next is advice. To refresh a place is to give up
// and to begin anew.
//
// Commands and messages arrive as late as they please, in any order, or never; grants
// may also arrive twice. A holder that dies in the middle of a release is one of whose grants some never
// arrive. A waiter that nobody receives for is one that has given up: the key
// is deleted at some time.
//
// A release of a token is not sent: a key with which nobody asks or holds any more may be
// deleted at any time, or stay until it expires. That is what a release that may be late, lost or
// repeated can do.
//
// With fencing a master gives a token above all that it has given, and at least the floor
// that a grant proposes. A client holds the lock only if a quorum has stored the highest token
// that it was given. (The library raises the others' in a second round, which
// is in verification/; here the client gives up.)
//
// # What is not modelled
//
// Extensions are not, nor read-write locks, sets and slots. Package model has extensions: one that is late
// may set the key again as a late SET may here. Nor is it modelled how far clients' wall clocks may
// differ, by which strict compares clocks.
//
// # What bounds the exploration
//
// The number of attempts and of restarts and jumps. Of a client's tokens those of its last two attempts
// live; commands with an older one are lost, and while a master keeps such a key its client
// does not begin. Masters are interchangeable, and so are clients.
package grant
