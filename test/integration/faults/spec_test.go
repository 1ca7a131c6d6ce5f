package faults

import (
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// childVariable turns the test binary into a client: it reads a spec and then
// orders on its standard input, and writes events to its standard output.
const childVariable = "REDQUORUM_FAULTS_CHILD"

// A spec says what a client is, and what it does.
type spec struct {
	URLs     []string
	Seed     uint64
	TTL      time.Duration
	MaxTTL   time.Duration // 0: the TTL
	Timeout  time.Duration // limit for one master; 0: commandTimeout
	Level    string        // the guard's; "" is the library's default
	Fencing  bool          // for all locks, except those of workers that are Plain
	Clock    time.Duration // by how much its wall clock is off
	Movable  bool          // its wall clock can be moved by an order
	Register string        // address of the register that the locks protect, "": none
	Workers  []worker
	Idle     bool // no progress is expected of it
	Stranger bool // it is expected to fail
}

// Guard levels of a spec.
const (
	levelStandard = "standard"
	levelStrict   = "strict"
)

var levels = map[string]redlock.GuardLevel{levelStandard: redlock.GuardStandard, levelStrict: redlock.GuardStrict}

// A worker does one thing again and again, in a goroutine of its own.
type worker struct {
	Do    string        // one of the constants below
	Keys  []string      // it takes one of them at a time; doAll: two, doAny: any
	Pace  time.Duration // pause after each time
	Count int           // how many keys doMany takes
	Plain bool          // without a fencing token
	Hold  time.Duration // how long it holds a lock; 0: no longer than it takes
}

const (
	doOwn     = "own"     // TryLock, Extend, Unlock on keys of its own; their latency counts
	doHot     = "hot"     // Lock on keys that others use too
	doFair    = "fair"    // the same, first come, first served
	doDo      = "do"      // Do on keys that others use too
	doHold    = "hold"    // Lock, and hold for Hold or until it is lost
	doRead    = "read"    // RLock
	doWrite   = "write"   // Lock of a read-write lock
	doAll     = "all"     // LockAll of two of the keys
	doAny     = "any"     // LockAny
	doMany    = "many"    // TryLock of Count keys, which begin with the first of Keys, all held until the end
	doForeign = "foreign" // as doHot, by another Redlock library
	doPaused  = "paused"  // holds its lock until an order, even if it is lost
)

// An order is sent to a client while it runs.
type order struct {
	Do    string        // stop, step, act
	Clock time.Duration // step: by how much the wall clock is off from now on
}
