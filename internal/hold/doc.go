// Package hold owns what a client holds: how one attempt acquires a lock, how long the
// lock is valid, and how it is renewed, lost, shared and released.
//
// These words have different meanings. An [attempt] is one try at the masters; it ends
// with its decision. An [Acquisition] makes the attempts of one call. Each attempt makes a
// [Hold]: a claim on the masters with a validity. It lives from the attempt's first byte
// until it is released or lost. A [Handle] is one caller's share in a hold; each reentrant
// call has its own.
//
// A [Manager] has what all holds of one client share, and the [renewer] that renews them. A
// hold reports events to its [Owner]: package redlock makes traces, log lines and public errors
// from them. This package knows only plain facts: a [Problem], a [Loss], a quorum.Failure.
//
// These invariants are enforced here: S2 and S3 (attempt.go), S5 (release.go, and
// Hold.SendIfHeld), S6 (extend.go), S7 (renewer.go, life.go), S8 (fence.go), L2 (attempt.go).
package hold
