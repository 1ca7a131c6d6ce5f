// Package sim runs the library against simulated masters in virtual time: the
// real packages redlock and pool, in a testing/synctest bubble, over in-memory
// connections that lose time, break and repeat themselves, to masters that run
// the real scripts by clocks of their own.
//
// A run follows from its seed and its profile. The same ones give the same run,
// to the nanosecond and also under the race detector, so a violation is told by
// its seed and can be looked at again. What makes that so: the library's random
// choices are seeded, and so are tokens; every delivery of a command or a reply
// has an instant of its own (see lanes), its delay being a hash of who sends
// what number of command to whom; everything that is queued at one instant goes
// out in one flush; and clocks are injected.
package sim
