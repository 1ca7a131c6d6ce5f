// Package pipeline keeps one self-healing, pipelined connection to one Redis
// master.
//
// Callers queue commands ([Pipeline.Enqueue] never blocks). One writer
// goroutine takes all that is queued, encodes it and flushes it with a single
// write; one reader goroutine receives the replies in order and completes the
// calls. A third goroutine supervises: it dials, shakes hands, starts the
// other two, and dials again with a jittered backoff when the connection is
// lost. redigo allows exactly one concurrent sender and flusher beside one
// concurrent receiver (see "Concurrency" in its package documentation), which
// is the whole of the sharing here.
//
// What a call may rely on:
//
//   - It is completed exactly once, whatever happens.
//   - Calls queued from one goroutine reach the master in that order, on one
//     connection (invariant S5).
//   - It dies with the connection it was queued for, unless it says until when
//     it is worth repeating (releases do; acquisitions and extensions never).
//   - Its reply is framed under limits before redigo parses it: a hostile or
//     broken server costs a connection, never a panic, never memory without
//     bound, never a vote.
package pipeline
