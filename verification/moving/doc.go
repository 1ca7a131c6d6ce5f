// Package moving explores the three phases of a move between two fleets exhaustively
// (docs/how-to/moving-a-fleet.md): it visits every state that two small fleets and two or
// three clients can get into, breadth first, and checks mutual exclusion over all phases.
// It is a model, written by hand beside the library, and runs none of its code.
//
// # What is modelled
//
// Time passes in ticks, by one clock for all; what drift does is in package model. A
// master is a key with an owner and a time to live, and a mark that its fleet is
// closed. A restart takes both, and a quarantine follows.
//
// A client is in phase one (it locks in the old fleet), two (in both) or three (in the
// new one). It may go on to the next phase whenever it holds nothing. One may be
// forgotten in phase one. An attempt asks each master of a fleet, as late as it
// pleases. At a quorum the client has this fleet, for what is left of the TTL since it
// began. In phase two it then asks the other one. It gives up whenever it likes, and
// gives back what it has. A hold is extended as often as its client likes, at any of
// the masters, and counts those that still have it. It is over when one of its fleets
// is.
//
// A release is executed at once, and a command that is refused is not executed: a key that
// is left over can only be in the way, and whoever finds it there might as well not have
// asked. (Late releases and their tokens are in package model.)
//
// An extension reaches all of its masters at one instant: one that reaches a master
// later leaves the key there for longer, and the client believes no longer in it.
//
// Whoever closes the old fleet marks its masters one by one, when all clients but the
// forgotten one are in phase two; a mark may come to a restarted master again, or never.
// When the masters that are not marked are no quorum, and a quarantine has passed since,
// phase three may begin.
//
// # What bounds the exploration
//
// Nothing but the number of restarts. Masters of one fleet are interchangeable, and so
// are clients that are not forgotten.
package moving
