// Package simmaster is a Redis master inside the process: for the demo, for
// tests of code that takes locks, and for simulation in virtual time.
//
// A [Master] is miniredis (real Lua, real expiry semantics for the commands it
// knows) plus what a lock by quorum asks of a master and miniredis lacks: an
// identity (INFO, ROLE, CLIENT ID, CLIENT KILL, CONFIG GET), a clock that can
// be set wrong, and faults: it can be killed, restarted with or without its
// data, frozen and thawed.
//
// # Reaching it
//
// [Master.Listen] serves on a loopback TCP port. [Master.Dial] gives an
// in-memory connection and involves no socket, which is what a testing/synctest
// bubble needs: create the master inside the bubble, use Dial alone there, and
// Close it before the bubble ends. Both ways work at the same time. A [Cluster]
// is several masters with a dialer that routes by address.
//
// # Clock and expiry
//
// A master's clock is the host's wall clock (a bubble's virtual one inside a
// bubble, or [Options].Now) plus an offset. TIME answers by it, to the
// microsecond, and TTLs run by it, in whole milliseconds as in Redis, where a key
// lives through the millisecond in which its time has come. A clock
// set forward expires keys at once, and they stay gone when it is set back; a
// clock set backward lengthens every TTL, because Redis keeps the instant of
// expiry and not the time that is left. A script sees the time at which it
// started. Uptime in INFO moves with the clock, as in Redis.
//
// # One command at a time
//
// Commands of all connections are executed one after another, those that have
// to wait in the order of their arrival. Freezing stops exactly this: the
// connection is accepted, bytes are taken until buffers are full, and nothing
// is executed nor sent until the master is thawed. What waited is executed
// then, also for clients that have gone meanwhile, as with SIGSTOP and SIGCONT.
//
// # What differs from a real Redis
//
//   - Expired keys are removed when the next command or inspection arrives, or
//     when the clock is set, by a walk through all keys at most once a
//     millisecond: 1,000 keys slow it down by a quarter, with 10,000 a command
//     takes some 4 ms.
//   - Nothing is written to disk. [Master.Restart] with keepData true stands for
//     a master that lost nothing (appendfsync always); scripts and client ids
//     are forgotten as in Redis. There is no replication ([Master.NewHistory] changes
//     the one field of INFO that it would), no ACL, no password,
//     no TLS, no memory limit and no eviction, and CONFIG SET is refused.
//   - Lua is gopher-lua: numbers are passed to commands in full where Redis
//     writes 1.79e+15, tonumber knows no inf, nan, 0x10, 1e3 and nothing above
//     2^63, pcall fails where an argument is nil, errors have the code that they
//     have in Redis and other words, cmsgpack, struct and bit are missing, and
//     inside EVAL_RO INFO and TIME are refused. A script that
//     never ends blocks the master, Freeze and Close: there is no SCRIPT KILL.
//   - INFO has the sections server, clients, memory, persistence, stats and
//     replication, with the fields a client can decide by. CLIENT knows ID,
//     KILL ID, SETNAME, GETNAME, SETINFO, NO-EVICT and NO-TOUCH. These commands
//     and ROLE, CONFIG and HELLO are refused inside MULTI.
//   - A message may reach its subscriber a little later than the reply to what
//     published it is sent.
//   - Expiries more than 250 years away are refused.
//   - Requests above 64 MiB, arguments above 16 MiB and inline requests above
//     16 KiB end the connection, as does malformed input, without an error reply.
//   - A blocking command (BLPOP and its kin) that already waits when the master
//     is frozen keeps counting its timeout.
//   - [Master.Kill] resets every connection. The kernel resets those of a killed
//     process only where data was left unread, and ends the others in order.
package simmaster
