// Package pipeline owns the connection to one Redis master. It keeps one pipelined
// connection open, and dials again when that is lost.
//
// Callers queue commands ([Pipeline.Enqueue] never blocks). A writer goroutine takes all
// queued commands, encodes them and sends them with a single write. A reader goroutine
// receives the replies in order and completes the calls. A third goroutine supervises: it
// dials, does the handshake and starts the other two. When the connection is lost, it
// dials again after a backoff with jitter. redigo allows one goroutine that sends and
// flushes, and one that receives, at the same time (see "Concurrency" in its package
// documentation). The writer and the reader share the connection in this way only.
//
// A call may rely on these rules:
//
//   - It is completed exactly once, whatever happens.
//   - Calls queued from one goroutine reach the master in that order, on one
//     connection (invariant S5).
//   - It fails when its connection is lost, unless it says until when repeating it is
//     useful. Releases say so; acquisitions and extensions never do.
//   - The size and form of its reply are checked before redigo parses it. A hostile or
//     broken server can cost the connection. It cannot cause a panic, take unlimited
//     memory or win a vote.
package pipeline
