// Package pool keeps connections to N independent Redis masters: one
// pipelined, self-healing connection each.
//
// A lock attempt queues its command for every master at once and waits for as
// many answers as it needs. There is no goroutine, no dial and no connection
// per operation, and no master waits for another:
//
//   - Commands that are queued while others are being written go out together,
//     in one flush.
//   - A command that is not answered in time gives up its wait, not the
//     connection: its reply is received later and dropped.
//   - A connection that makes no progress for the stall limit is closed and
//     dialled again in the background, with a jittered backoff. Until a master
//     is back, commands for it fail at once.
//   - The previous connection is killed on the master (CLIENT KILL ID, where
//     permitted) before the new one serves, so that late bytes do not execute.
//
// Most programs never see this package: redlock.Open makes its own pool.
// Make one with [New], or with [NewFromConfigs], to share it between clients or to read its [Pool.Stats].
package pool
