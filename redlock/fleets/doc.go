// Package fleets uses several fleets of masters as one: more locks than one fleet
// carries (Sharded), and a change of masters while locks are held (Moving).
//
// A fleet is the list of masters of one [redlock.Client]. [One] makes a [Locker] of it,
// and Lockers are put together:
//
//	eu := fleets.One(euClient)
//	us := fleets.One(usClient)
//	shards, err := fleets.Sharded(map[string]fleets.Locker{"eu": eu, "us": us})
//
// [Sharded] spreads keys over fleets: each key belongs to one of them, and costs what
// it costs there. [Moving] takes each key in two fleets: it is what all clients run
// between the day when all of them use the old fleet and the day when all use the new
// one.
//
// Everything here is safe for concurrent use. Errors of package redlock stay reachable
// with errors.Is and errors.As; those of a Sharded or Moving are a [*FleetError], which
// says which fleet it was.
package fleets
