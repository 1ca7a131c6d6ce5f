// Package simmaster owns the simulated Redis master: a master inside the process, with faults. The
// demo, the tests of code that takes locks, and the simulation in virtual time use it.
//
// A [Master] is miniredis (real Lua, real expiry semantics for the commands it knows), plus what
// locks by quorum need and miniredis lacks. It has an identity (INFO, CLIENT ID,
// CLIENT KILL, CONFIG GET) and a clock that can be set wrong. It can be killed,
// restarted with or without its data, frozen and thawed.
//
// # Reaching it
//
// [Master.Listen] serves on a loopback TCP port. [Master.Dial] gives a connection in memory,
// without a socket. A testing/synctest bubble needs that: create the master inside the bubble, use
// only Dial there, and Close the master before the bubble ends. Both ways work at the same time. A
// [Cluster] is several masters with a dialer that routes by address.
//
// # Clock and expiry
//
// A master's clock is the host's wall clock (a bubble's virtual one inside a bubble, or
// [Options].Now) plus an offset. TIME shows it to the microsecond. TTLs count in whole milliseconds
// of it; as in Redis, a key expires only after its last millisecond has passed. A clock set forward
// expires keys at once, and they stay gone when it is set back. A clock set backward lengthens
// every TTL, because Redis stores the time of expiry and not the time that is left. A script sees
// the time at which it started. Uptime in INFO moves with the clock, as in Redis.
//
// # One command at a time
//
// The master executes the commands of all connections one after another; commands that
// have to wait are executed in the order of their arrival. A frozen master still accepts
// connections, and takes bytes until the buffers are full, but it executes and sends
// nothing. When it is thawed, it executes all commands that waited, also those of clients
// that have disconnected. SIGSTOP and SIGCONT have the same effect.
//
// # What differs from a real Redis
//
//   - Expired keys are removed when the next command or inspection arrives, or
//     when the clock is set. The master then walks through all keys, at most once
//     a millisecond: 1,000 keys slow it down by a quarter, with 10,000 a command
//     takes some 4 ms.
//   - Nothing is written to disk. [Master.Restart] with keepData true is like
//     a master that lost nothing (appendfsync always); scripts and client ids
//     are forgotten as in Redis. There is no replication ([Master.NewHistory] changes
//     the one field of INFO that a replication would change), no ACL, no password,
//     no TLS, no memory limit and no eviction. CONFIG SET is refused.
//   - Lua is gopher-lua, kept for a whole run. Numbers are passed to commands in full where
//     Redis writes 1.79e+15. tonumber accepts neither inf nor nan. pcall fails if an argument
//     is nil. Errors have the same code as in Redis, but another text. The table redis has
//     only call, pcall, error_reply and status_reply; cjson, cmsgpack, struct, bit and os are
//     missing. A script that never ends blocks the master,
//     Freeze and Close: there is no SCRIPT KILL.
//   - INFO has the sections server, clients, memory, persistence, stats and
//     replication, with the fields that a client may need. Its master_repl_offset
//     counts commands: in Redis 7.2 with an append-only file, and where replicas are
//     attached, it moves with each write. CLIENT knows ID, KILL ID and SETNAME.
//     Commands that this package answers are executed at once, inside MULTI too. A
//     command that blocks, such as BLPOP, holds up all others.
//   - A message may reach its subscriber a little after the reply to PUBLISH is
//     sent.
//   - Expiries more than 250 years away are refused.
//   - Requests above 64 MiB, arguments above 16 MiB, inline requests above 16 KiB
//     and malformed input end the connection without an error reply.
//   - [Master.Kill] resets every connection. When a real process is killed, the
//     kernel resets only connections with unread data, and closes the others
//     normally.
package simmaster
