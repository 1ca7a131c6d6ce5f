package wire

import "github.com/redquorum/redquorum/internal/ballot"

// An Op is what a question asks of the masters.
type Op uint8

// Ops.
const (
	OpLock    Op = iota
	OpExtend     // also sets the key again where it is missing
	OpAdopt      // acquires a lock that was handed over
	OpVerify     //
	OpRelease    //
	OpHolder     // asks who holds the key
	OpInspect    // asks all masters what is at the key
	OpRaise      // the second round of an acquisition with a fencing token
)

// votes reports whether an answer is a vote, which only a master that may vote can give.
// The other questions need no vote: each master answers for itself alone.
func (op Op) votes() bool {
	switch op {
	case OpLock, OpExtend, OpAdopt, OpVerify, OpRaise:
		return true
	default:
		return false
	}
}

// rules returns how such a question is decided.
func (op Op) rules() ballot.Rules {
	r := ballot.Rules{Votes: op.votes(), All: op == OpHolder || op == OpInspect, Persist: op == OpRelease}
	switch op {
	case OpExtend, OpAdopt, OpVerify, OpRelease:
		// An extension sets a missing key again. If it were decided before enough masters have said that
		// the key was gone, the next extension would find the key and could not tell.
		r.Gone = true
	}
	return r
}

// String returns the name of the public call that asks, for errors.
func (op Op) String() string {
	return [...]string{"lock", "extend", "adopt", "verify", "unlock", "inspect", "inspect", "lock"}[op]
}
