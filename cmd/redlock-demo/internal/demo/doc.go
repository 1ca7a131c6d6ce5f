// Package demo is the demonstration that redlock-demo shows: one inventory,
// many buyers, and the lock between them.
//
// [Run] sells an inventory first without a lock, which oversells, then with
// one, which is exact, and then takes masters away one by one while it sells:
// with a minority gone it goes on, without a quorum it refuses and says why,
// and with one master back it recovers by itself. What has to hold is listed in
// the [Result] as expectations, each checked against what was measured; nothing
// is assumed.
//
// [Move] shows instead how masters are changed for others while it sells: in the three phases
// of package fleets, with masters of its own, of which it kills some on the way.
//
// The masters are a [Cluster]: embedded ones ([Embedded]), processes of its own
// ([Spawn]), or ones that somebody else runs ([Given]). Those of the first two
// kinds it kills and restarts itself; for the third it asks the person at the
// terminal to, or leaves that part out and says so.
//
// Everything is bounded: Run ends by itself, also when masters hang, and soon
// after its context. The package prints through a [Screen] only and never ends
// the process.
package demo
