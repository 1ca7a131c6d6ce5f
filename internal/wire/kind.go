package wire

import (
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/script"
)

// A Kind says by which commands locks of one sort are acquired, kept and given back on
// a master. The scripts of a kind take the keys of the lock, the token as their first
// argument and the TTL in milliseconds as their second where they need one; all else is
// written in their files.
type Kind struct {
	// OneOf: acquire grants one of the keys. The lock is then the plain one of that
	// key (Wire.KeepOnly).
	OneOf bool
	// Queued: the queue's own script acquires such a lock at the pilot and gives it
	// back there, and tells who waits next.
	Queued bool
	// Shared: many hold such a lock together. They wait in a queue of their own, beside
	// that of the others, and are called together (readers_queue.lua).
	Shared bool
	// Together: several keys, all or none.
	Together bool

	name    string
	acquire *script.Script // nil: SET NX PX, of one key
	extend  *script.Script
	verify  *script.Script
	release *script.Script
	// scripted are used instead for locks with a fencing token, and in strict.
	scripted scriptedKind
	// readGrant reads the answer to acquire, or to SET.
	readGrant func(a *Ask, f *fact, reply any) ballot.Answer
	// handOver releases as release does, and tells who waits next, given the client's
	// id; nil: nobody is told.
	handOver *script.Script
	// inTheWay is which of several keys is the one in the way, as holderamong.lua wants
	// it; nil: there is one key.
	inTheWay any
	// longest: but for verify, the scripts take the longest TTL of all clients as
	// their last argument, the scripted ones as their first.
	longest bool
	// batched: releases, of one key, may be made one command with others.
	batched bool
	// seesIntents: the scripts that acquire take the key of waiting writers as well.
	seesIntents bool
	// SharesFence: its fencing token is that of the last writer, and not a new one.
	SharesFence bool
}

// scriptedKind are the scripts of a kind that know fences and leases. Those that release
// are for strict alone: fences stay.
type scriptedKind struct{ acquire, extend, release, handOver *script.Script }

// Name is the kind's in names of queues inside the process.
func (k *Kind) Name() string { return k.name }
