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
	name    string     // of the key as the caller knows it; the first where there are several
	claim   wire.Claim // its Kind, Keys, TTL, Fence and Absent are guarded by mu once it is held
	first   *Handle    // the owner's
	others  []string   // the names of the other keys

	acquired drift.Instant // start of the attempt that acquired it

	// mu guards what follows. Calls are queued under it, so that no call of this hold
	// follows its release. Nothing blocks under it, and no context is ended.
	mu      sync.Mutex
	life    life
	renewal renewal
	handles map[*Handle]struct{} // all handles that hold, with the first; nil: only the first

	setting quorum.Count // questions that may set or prolong the keys, until all masters have answered

	index    int32 // in the renewer's heap, guarded by its mutex; notScheduled if it is not there
	late     bool  // lost, and in the heap for its release alone; guarded by the renewer's mutex
	sent     bool  // the release has been sent; guarded by mu
	extended bool  // an extension was sent: keys may outlive the TTL; guarded by mu
}

// Options say how a hold is named and renewed. They do not change after they are given.
type Options struct {
	// Every is the time between renewals, from the start of one to the start of the
	// next; 0: a third of the validity. Half of the validity is the most.
	Every time.Duration
	// MaxHold: no renewal starts later than this after the hold was acquired; 0: no
	// bound.
	MaxHold time.Duration
	// MaxCount bounds the number of renewals; 0: no bound.
	MaxCount int
	// Fixed: it is a lease, and not renewed.
	Fixed bool
	// UnlockOnly: nothing releases it but Release. The keys live on otherwise until their TTL
	// is over, which somebody else may prolong.
	UnlockOnly bool
	// Owner is the name in its tokens.
	Owner string
}

// every is the renewal interval of a hold with a validity.
func (o *Options) every(validity time.Duration) time.Duration {
	if o.Every != 0 {
		return min(o.Every, validity/2)
	}
	return validity / 3
}

// An Owner hears what happens to a hold. Only Cause and Renewed are called under the hold's
// mutex. What happens until Held has returned is told after that, by the same goroutine.
type Owner interface {
	// Context is that of the call that acquires. Once the hold is held, it is the hold's.
	Context() context.Context
	// Answered hears of each decided question of a call about the hold, with the context of
	// the call, or with Context.
	Answered(ctx context.Context, a *wire.Ask)
	// Held hears of a hold that begins. It is held already, and looked after.
	Held()
	// Renewed hears of each decided renewal. It returns what the deliverer is to call to tell
	// of it; nil: nobody listens.
	Renewed(r *Renewed) (tell func())
	// Cause makes the error that contexts end with.
	Cause(l *Loss) error
	// Released hears of the hold's end, once: by the deliverer if it was lost, and by the
	// goroutine that ends it otherwise.
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

// BeSet turns a hold into one of several keys together, before any attempt. names are the
// keys as the caller knows them, keys are those with the prefix.
func (h *Hold) BeSet(names, keys []string) {
	h.name, h.others = names[0], names[1:]
	h.claim.Kind, h.claim.Keys = wire.Set, keys
}

// aim turns a hold into one of another key, before any attempt. key has the prefix.
func (h *Hold) aim(key string) {
	h.name = h.manager.cfg.KeyName(key)
	h.claim.SetPlain(key)
}

// next is a hold for another attempt at the lock of h. A hold that was rolled back cannot
// be used again: late answers of its attempt may still arrive.
func (h *Hold) next() *Hold {
	return &Hold{
		manager: h.manager, owner: h.owner, first: h.first, opts: h.opts, name: h.name,
		claim: h.claim.Again(), others: h.others, index: notScheduled,
	}
}

// Name is its key as the caller knows it, or the first of several. Others are the rest.
func (h *Hold) Name() string { return h.name }

// Others are the keys after the first. The caller must not change them.
func (h *Hold) Others() []string { return h.others }

// Claim is what it has, or wants, on the masters. Once the hold is held, only Token and
// Fenced may be read.
func (h *Hold) Claim() *wire.Claim { return &h.claim }

// Owner is the one that Init was given.
func (h *Hold) Owner() Owner { return h.owner }

// Fence is its fencing token; 0: it has none.
func (h *Hold) Fence() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claim.Fence
}

// Acquired is the start of the attempt that acquired it.
func (h *Hold) Acquired() drift.Instant { return h.acquired }

// Agreed is how many masters had agreed when the attempt was decided.
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
