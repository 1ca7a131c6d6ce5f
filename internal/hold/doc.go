// Package hold owns what a client holds: how a lock is acquired by one attempt, how
// long it is valid, how it is renewed, lost, shared and released.
//
// Three things are told apart. An [Attempt] is one try at the masters: it ends with its
// decision. A [Hold] is what an attempt makes: a claim on the masters with a validity;
// it lives from the attempt's first byte until it is released or lost. A [Handle] is one
// caller's share in a hold: reentrant calls have one each.
//
// A [Home] is what the holds of one client have in common, with the [keeper] that renews
// them. The [Owner] of a hold is told what becomes of it: package redlock makes traces,
// log lines and public errors of that. This package knows plain facts only: a
// [Problem], a [Loss], an outcome.Failure.
//
// Invariants that are enforced here: S2 and S3 (attempt.go), S5 (release.go, and
// Hold.IfLive), S6 (extend.go), S7 (keeper.go, life.go), S8 (fence.go), L2 (attempt.go).
package hold
