package hold

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Hold is a lock from the first byte of the attempt that acquires it until it is
// released or lost. Init makes it in place, and it must not be copied. It is safe for
// concurrent use once it is held.
type Hold struct {
	manager *Manager
	owner   Owner
	opts    *Options
	name    string     // the key as the caller names it; the first of several
	claim   wire.Claim // Kind, Keys, TTL, Fence and Absent are guarded by mu once the hold is held
	first   *Handle    // the owner's
	others  []string   // the names of the other keys

	acquired drift.Instant // start of the attempt that acquired it

	// mu guards what follows. Calls are queued under it, so that no call of this hold
	// follows its release. Nothing blocks under it, and no context is ended.
	mu      sync.Mutex
	life    life
	renewal renewal
	handles map[*Handle]struct{} // all handles that hold, the first included; nil: only the first

	setting quorum.Count // questions that may set or extend the keys, until all masters have answered

	index    int32 // in the renewer's heap, guarded by its mutex; notScheduled if it is not there
	late     bool  // lost, and in the heap only to be released; guarded by the renewer's mutex
	sent     bool  // the release has been sent; guarded by mu
	extended bool  // an extension was sent: keys may outlive the TTL; guarded by mu
}

// Options say how a hold is named and renewed. They do not change after they are given.
type Options struct {
	// Every is the time between renewals, from the start of one to the start of the
	// next; 0: a third of the validity. Half of the validity is the most.
	Every time.Duration
	// MaxHold: no renewal starts later than this after the hold was acquired; 0: no bound.
	MaxHold time.Duration
	// MaxCount bounds the number of renewals; 0: no bound.
	MaxCount int
	// Fixed: it is a lease, and not renewed.
	Fixed bool
	// UnlockOnly: only Release releases the lock. After any other end the keys stay until
	// their TTL expires, and somebody else may extend that.
	UnlockOnly bool
	// Owner is the name in its tokens.
	Owner string
}

// every returns the renewal interval of a hold with this validity.
func (o *Options) every(validity time.Duration) time.Duration {
	if o.Every != 0 {
		return min(o.Every, validity/2)
	}
	return validity / 3
}

// An Owner is notified of the events of a hold. Only Cause and Renewed may be called under the
// hold's mutex. Renewals and an end before Held has returned are reported after it, by the
// same goroutine.
type Owner interface {
	// Context returns the acquiring call's context, and the hold's once the lock is held.
	Context() context.Context
	// Answered is called for each decided question that a call asks about the hold. ctx is the
	// call's, or Context's.
	Answered(ctx context.Context, a *wire.Ask)
	// Held is called when a hold begins. The renewer looks after it already.
	Held()
	// Renewed is called for each decided renewal. It returns the function with which the
	// deliverer reports the renewal; nil: nobody listens.
	Renewed(r *Renewed) (report func())
	// Cause returns the error with which contexts end.
	Cause(l *Loss) error
	// Released is called once, when the hold has ended: by the deliverer if the hold was lost,
	// otherwise by the goroutine that ends it.
	Released(end End)
}

// An End is how a hold has ended.
type End struct {
	Loss       *Loss // nil: it was released, or handed over
	HandedOver bool
	At         drift.Instant // when the end was noticed
	Renewals   int           // that succeeded
}

// Init makes a hold for the first attempt, with the claim of one key's plain lock, and
// its first handle. The key has the prefix.
func (h *Hold) Init(manager *Manager, owner Owner, first *Handle, opts *Options, name, key string) *wire.Claim {
	h.manager, h.owner, h.first, h.opts = manager, owner, first, opts
	h.name = name
	h.index = notScheduled
	h.claim.SetPlain(key)
	first.hold = h
	return &h.claim
}

// InitLike makes a hold for the same lock as wanted, and its first handle.
func (h *Hold) InitLike(wanted *Hold, owner Owner, first *Handle, opts *Options) {
	h.manager, h.owner, h.first, h.opts = wanted.manager, owner, first, opts
	h.name, h.claim, h.others = wanted.name, wanted.claim.Again(), wanted.others
	h.index = notScheduled
	first.hold = h
}

// BeSet makes a hold one for several keys together, before any attempt. names are the keys as
// the caller names them, keys are the same with the prefix.
func (h *Hold) BeSet(names, keys []string) {
	h.name, h.others = names[0], names[1:]
	h.claim.Kind, h.claim.Keys = wire.Set, keys
}

// aim makes a hold one for another key, before any attempt. key has the prefix.
func (h *Hold) aim(key string) {
	h.name = h.manager.cfg.KeyName(key)
	h.claim.SetPlain(key)
}

// next returns a hold for another attempt at the lock of h. A hold that was rolled back cannot
// be used again, because late answers of its attempt may still arrive.
func (h *Hold) next() *Hold {
	return &Hold{
		manager: h.manager, owner: h.owner, first: h.first, opts: h.opts, name: h.name,
		claim: h.claim.Again(), others: h.others, index: notScheduled,
	}
}

// Name returns the key as the caller names it, or the first of several. Others returns the rest.
func (h *Hold) Name() string { return h.name }

// Others returns the keys after the first. The caller must not change them.
func (h *Hold) Others() []string { return h.others }

// Claim returns what the hold has, or wants, on the masters. Once the hold is held, only Token
// and Fenced may be read.
func (h *Hold) Claim() *wire.Claim { return &h.claim }

// Owner returns the owner that Init was given.
func (h *Hold) Owner() Owner { return h.owner }

// Fence returns the fencing token; 0: the hold has none.
func (h *Hold) Fence() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claim.Fence
}

// Acquired returns the start of the attempt that acquired the lock.
func (h *Hold) Acquired() drift.Instant { return h.acquired }

// Agreed returns how many masters had agreed when the attempt was decided.
func (h *Hold) Agreed() int { return int(h.life.agreed) }

// SendIfHeld implements wire.Hold.
func (h *Hold) SendIfHeld(send func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.state > held {
		return false
	}
	send()
	return true
}
