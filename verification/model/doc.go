// Package model is the model of the lock protocol of package redlock. Package search
// visits every state that a few masters and clients can reach, breadth first, and checks
// mutual exclusion in each of them (invariants S1 and S7). The model is written by hand
// beside the library and runs none of its code.
//
// # What is modelled
//
// Time passes in ticks. At each tick every client's clock moves by one. A master's clock
// may also move by two (fast) or stand still (slow), each only a limited number of times
// in the life of one timer. So the drift is bounded.
//
// A master is a key with an owner and a time to live, and a quarantine after a restart.
// An expired key disappears at once, as with active expiry. A master that deleted it later
// would only refuse more. A restart empties the master or keeps its data, and starts the
// quarantine: until it ends, the master's answers do not count for an acquisition or an
// extension.
//
// A client makes one attempt after another, each with a new token. An attempt queues
// SET NX PX for every master. It acquires the lock at the quorum-th OK if there is
// validity left. It may give up and roll back at any time, and must do so when no
// validity could be left. A holder may release, extend or do nothing. An extension never
// shortens the time to live; a master that had lost the key sets it again and does not
// count. A hold ends by the client's own clock, even if a command is still on its way.
//
// A master executes the commands of one client in order. Each command may arrive as late
// as the search likes, or be lost. When a connection breaks, its first command may stay
// on its way and be executed out of order (a straggler). A release is repeated on the
// next connection.
//
// A client has its answer as soon as the command is executed. Later answers would add
// nothing: a client may wait before it decides, and one that gives up ignores what still
// arrives.
//
// # What bounds the exploration
//
// Nothing bounds the time. The configuration may bound the number of attempts, of
// extensions of one hold, of restarts and of breaks. A client has at most two live
// tokens, and a few commands on their way to a master.
//
// Masters are interchangeable, and clients are too. The search keeps one of the states that
// differ only by a permutation.
package model
