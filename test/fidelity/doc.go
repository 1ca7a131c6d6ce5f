// Package fidelity compares the simulated master with a real redis-server. What the simulation
// proves about the library is worth only as much as the two are alike.
//
// Sequences of commands are made up at random. They hold every script of internal/script and
// internal/guard with plausible and hostile arguments, and plain commands that put, remove,
// retype and expire keys between them. Scripts are forgotten, and the clock is stepped. Both
// masters get the same sequence, with clocks that stand still at the same instants. Every reply
// must be the same, and so must every message to a subscribed client. After each command
// everything that is stored must be the same: values, types, expiries to the millisecond. Of
// errors only the code counts, not the wording.
//
// It is a module of its own, so that what it needs (rapid) is no dependency of the library. It
// needs a redis-server and, for the clock, Linux and a C compiler. Without them it is skipped,
// and says so.
//
//	go test -rapid.checks 10000    # more sequences than the 150 of an ordinary run
//	go test -rapid.seed N          # those of a run that failed
package fidelity
