package redlock

import "github.com/redquorum/redquorum/internal/ballot"

// An operation is a kind of question that is put to all masters.
type operation uint8

const (
	opLock      operation = iota
	opExtend              // also sets the key again where it is missing
	opAdopt               // an extension that does not
	opVerify              //
	opRelease             //
	opHolder              // asks those that refused who holds the key
	opInspect             // asks everyone
	opDowngrade           // an extension that makes a reader of the writer
	opRaise               // the second round of an acquisition with a fencing token
)

// votes reports whether an answer is a vote, which not every master has. Who
// releases needs none: the masters that answer tell of themselves alone.
func (op operation) votes() bool {
	switch op {
	case opLock, opExtend, opAdopt, opVerify, opDowngrade, opRaise:
		return true
	default:
		return false
	}
}

// rules is how a question of that sort is decided.
func (op operation) rules() ballot.Rules {
	return ballot.Rules{Votes: op.votes(), All: op == opHolder || op == opInspect, Persist: op == opRelease}
}

func (op operation) String() string {
	return [...]string{"lock", "extend", "adopt", "verify", "unlock", "inspect", "inspect", "downgrade", "lock"}[op]
}
