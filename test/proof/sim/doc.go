// Package sim runs the library against simulated masters in virtual time. The packages redlock
// and pool are the real ones, in a testing/synctest bubble. In-memory connections delay, lose
// and repeat commands, and break. The masters run the real scripts, by clocks of their own.
//
// A run follows from its seed and its profile. The same ones give the same run, to the
// nanosecond and also under the race detector. So a seed is enough to see a violation again.
//
// Four things ensure that. The library's random choices and its tokens are seeded. Every
// delivery of a command or a reply has an instant of its own (see lanes): its delay is a hash
// of sender, receiver and the command's number. Everything that is queued at one instant goes
// out in one flush. And clocks are injected.
package sim
