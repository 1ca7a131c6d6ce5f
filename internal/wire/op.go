package wire

import "github.com/redquorum/redquorum/internal/ballot"

// An Op is what all masters are asked for.
type Op uint8

// Ops.
const (
	OpLock    Op = iota
	OpExtend     // also sets the key again where it is missing
	OpAdopt      // an acquisition of what was handed over
	OpVerify     //
	OpRelease    //
	OpHolder     // asks those that refused who holds the key
	OpInspect    // asks everyone
	OpRaise      // the second round of an acquisition with a fencing token
)

// votes reports whether an answer is a vote, which not every master has. Who releases
// needs none: the masters that answer tell of themselves alone.
func (op Op) votes() bool {
	switch op {
	case OpLock, OpExtend, OpAdopt, OpVerify, OpRaise:
		return true
	default:
		return false
	}
}

// rules is how such a question is decided.
func (op Op) rules() ballot.Rules {
	r := ballot.Rules{Votes: op.votes(), All: op == OpHolder || op == OpInspect, Persist: op == OpRelease}
	switch op {
	case OpExtend, OpAdopt, OpVerify, OpRelease:
		// An extension that was decided before all have said that the key is gone has set it again by then:
		// the next one would find it.
		r.Gone = true
	}
	return r
}

// String is the name of the call that asks, for errors.
func (op Op) String() string {
	return [...]string{"lock", "extend", "adopt", "verify", "unlock", "inspect", "inspect", "lock"}[op]
}
