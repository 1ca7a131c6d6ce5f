package metrics

import (
	"slices"
	"sync/atomic"
)

// What is counted. The names of the results are in the order of the counters.

// A class is the counts of one class of locks.
type class struct {
	waiting    atomic.Int64
	held       atomic.Int64
	attempts   [len(callResults)]atomic.Uint64
	retries    [len(retryReasons)]atomic.Uint64
	contended  atomic.Uint64
	reentered  atomic.Uint64
	waits      [len(callResults)]histogram
	holds      [len(holdEnds)]histogram
	renewals   [len(keepResults)]atomic.Uint64
	renewing   histogram
	extensions [len(extendOps)][len(keepResults)]atomic.Uint64
	losses     [len(lossReasons)]atomic.Uint64
	unlocks    [len(unlockResults)]histogram
}

// Results of a call or attempt that acquires.
const (
	callAcquired = iota
	callTaken
	callNoQuorum
	callEnded
	callRefused
)

var callResults = [...]string{"acquired", "taken", "no_quorum", "cancelled", "refused"}

var retryReasons = [...]string{"taken", "no_quorum"}

// Ends of a hold: redlock.HoldEnd less one.
var holdEnds = [...]string{"unlocked", "lost", "handed_over", "closed", "planned"}

// Results of what keeps a lock.
const (
	keepOK = iota
	keepFailed
	keepLost
)

var keepResults = [...]string{"ok", "failed", "lost"}

var extendOps = [...]string{"extend", "verify", "downgrade"}

// Reasons of a loss: redlock.Reason less one.
var lossReasons = [...]string{"expired", "taken", "unreachable", "closed"}

// Results of a release.
const (
	unlockReleased = iota
	unlockUnconfirmed
	unlockNotHeld
)

var unlockResults = [...]string{"released", "unconfirmed", "not_held"}

// A master is the counts of one master.
type master struct {
	replies [len(replyOps)][len(replyResults)]atomic.Uint64
	latency histogram
}

var replyOps = [...]string{"lock", "extend", "adopt", "verify", "unlock", "inspect", "downgrade", "other"}

const (
	replyAgreed = iota
	replyRefused
	replyFailed
	replyTimeout
)

var replyResults = [...]string{"agreed", "refused", "failed", "timeout"}

// indexOf is where a name stands in a list; the last place where it does not.
func indexOf(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names) - 1
}
