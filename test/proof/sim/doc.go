// Package sim runs the library against simulated masters in virtual time. The packages
// redlock and pool are the real ones, in a testing/synctest bubble. In-memory
// connections lose time, break and repeat themselves. The masters run the real scripts,
// by clocks of their own.
//
// A run follows from its seed and its profile. The same ones give the same run, to the
// nanosecond and also under the race detector. So a violation is told by its seed and
// can be looked at again.
//
// Four things make that so. The library's random choices are seeded, and so are tokens.
// Every delivery of a command or a reply has an instant of its own (see lanes): its
// delay is a hash of sender, receiver and the command's number. Everything that is
// queued at one instant goes out in one flush. And clocks are injected.
package sim
