// Package fencing explores the protocol of the fencing tokens exhaustively: are they unique,
// and do they rise? It visits every state that three masters and two attempts can get
// into, breadth first. It is a model, written by hand beside the library, and runs none of
// its code.
//
// # What is modelled
//
// A master is the owner of one lock, and a fence: the highest value that it has given. An
// attempt proposes a floor, so that masters usually give the same value. A master that grants
// gives max(fence + 1, floor). The token is the highest value given. Where a quorum does not
// store it yet, the attempt raises the others by compare-and-set: a master raises only where
// the attempt still owns the lock and the fence is the value that this master gave it.
//
// The lock may expire on any master whenever a script looks at it, so nothing rests on mutual
// exclusion: several attempts may have a quorum at once. Answers may be lost. A stray is a
// command that is executed late or again; nobody waits for its answer. With SetsAgain a holder
// may take the lock again on any master, and raises the fence there to its token.
//
// With Losses, masters may lose all they have; they then do not vote until their quarantine
// ends. Time passes only with Losses: floors are read from clocks that differ by a tick, and
// an attempt takes a tick at most.
//
// An attempt has its token when a quorum stores it. Then no other attempt has the same token,
// and it is above every token that was complete when the attempt began (S8).
//
// # What bounds the exploration
//
// The number of strays of one attempt, of losses and of ticks. Masters are interchangeable,
// and so are attempts.
package fencing
