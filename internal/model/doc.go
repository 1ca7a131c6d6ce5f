// Package model explores the lock protocol of package redlock exhaustively: it
// visits every state that a few masters and clients can get into, breadth
// first, and checks mutual exclusion in each of them (invariants S1 and S7).
// It is a model, written by hand beside the library, and runs none of its code.
//
// # What is modelled
//
// Time passes in ticks. At each tick every client's clock moves by one; a
// master's clock may move by two (fast) or stand still (slow), each at most so
// often in the life of one timer. That is the bounded drift.
//
// A master is a key with an owner and a time to live, and a quarantine after a
// restart. An expired key is gone at once, as by active expiry; deleting it
// later could only refuse what is granted here. A restart empties the master or
// leaves its data, and starts the quarantine: what it answers until the end of
// it counts neither for an acquisition nor for an extension.
//
// A client makes one attempt after another, each with a fresh token: it queues
// SET NX PX for every master, is granted the lock at the quorum-th OK if there
// is validity left, or gives up, at any instant and at the latest when no
// validity could be left, and rolls back. A holder may release, extend (the
// script never shortens; a master that had lost the key sets it again and does
// not count), or do nothing. Its hold ends by its own clock, whatever is under
// way. Commands of one client to one master are executed in order, each as late
// as it pleases; each may be lost. Where a connection breaks, its first
// command may be left behind on the way and be executed out of order (a
// straggler), while a release is repeated on the next connection.
//
// Answers arrive with the execution. A later answer adds nothing: deciding
// waits as long as it likes, and giving up ignores what may still come.
//
// # What bounds the exploration
//
// Nothing bounds the time. The number of attempts, of extensions of one hold,
// of restarts and of breaks is bounded by the configuration, or not at all; a
// client has at most two tokens alive and a few commands in flight to a master.
//
// Masters are interchangeable, and so are clients: of states that differ only
// by a permutation one is kept.
package model
