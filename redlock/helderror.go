package redlock

import (
	"fmt"
	"strconv"
	"time"

	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
)

// A HeldError describes the key on a master where it is somebody else's, as it was
// read right after the refusal. What the master did not tell is zero.
type HeldError struct {
	// Token is the value of the key, its first 256 bytes. With it the lock can be
	// released and adopted: keep it out of logs. Texts show its beginning alone.
	Token string
	Owner string        // the name its owner gave with WithOwner, if it is a client of this library
	TTL   time.Duration // until the key expires; 0: unknown; negative: never
	Key   string        // the one that is in the way, of a lock of several keys
	// Type is one of
	//   - "string": a lock;
	//   - "zset": the readers of a read-write lock;
	//   - "none": free by the time it was looked at;
	//   - "intent": free, but a writer waits, so that a reader is refused;
	//   - "lease": the key is gone, the lease record of its holder is not (GuardStrict);
	//   - another type of Redis: the key is no lock;
	//   - "": not known.
	Type    string
	Readers int // how many readers hold the lock
	// Own is set where this client itself took the lock: in another call, or in one
	// whose hold was handed over since (see Lock.HandOver).
	Own bool
}

// Error is who holds the key and for how long, in words.
func (e *HeldError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("%q: %s", e.Key, e.what())
	}
	return e.what()
}

func (e *HeldError) what() string {
	switch {
	case e.Type == "":
		return "held by another"
	case e.Type == "none":
		return "was held by another, is free now"
	case e.Type == wire.LeaseType:
		return fmt.Sprintf("leased to %s for %v more, though its key is gone", e.holder(), e.TTL)
	case e.Type == wire.IntentType:
		return "kept for a writer that waits"
	case e.Readers == 1:
		return fmt.Sprintf("held by a reader for %v more", e.TTL)
	case e.Readers > 1:
		return fmt.Sprintf("held by %d readers for at most %v more", e.Readers, e.TTL)
	case e.Type != "string":
		return fmt.Sprintf("the key is a %s, not a lock", e.Type)
	}
	s := "held by " + e.holder()
	if e.Own { // and perhaps handed over since
		s = "taken by " + e.holder()
	}
	switch {
	case e.TTL > 0:
		s += fmt.Sprintf(" for %v more", e.TTL)
	case e.TTL < 0:
		s += " without an expiry"
	}
	return s
}

// holder is who holds a lock, as far as people are told.
func (e *HeldError) holder() string {
	s := "another"
	switch {
	case e.Own && e.Owner != "":
		s = fmt.Sprintf("another call of this client, %q", e.Owner)
	case e.Own:
		s = "another call of this client"
	case e.Owner != "":
		s = strconv.Quote(e.Owner)
	}
	if e.Token != "" {
		s += fmt.Sprintf(" (token %q)", tokens.Short(e.Token))
	}
	return s
}
