package hold

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/group"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Hold is a lock from the first byte of the attempt that acquires it until it is
// released or lost. Init makes it in place, and it must not be copied. It is safe for
// concurrent use once it is held.
type Hold struct {
	home  *Home
	owner Owner
	opts  *Options
	name  string     // of the key as the caller knows it; the first where there are several
	claim wire.Claim // its Kind, Keys, TTL, Fence, Absent and Generation are guarded by mu once it is held
	first *Handle    // the owner's
	// several is what is wanted where there are several keys; nil: there is one.
	several *several

	acquired drift.Instant // start of the attempt that acquired it

	// mu guards what follows. Calls are queued under it, so that no call of this hold
	// follows its release. Nothing blocks under it. Release it with unlock.
	mu      sync.Mutex
	life    life
	renewal renewal
	handles map[*Handle]struct{} // all handles that hold, with the first; nil: only the first

	setting group.Count // questions that may set or prolong the keys, until all masters have answered

	index    int32 // in the keeper's heap, guarded by its mutex; notScheduled if it is not there
	late     bool  // lost, and in the heap for its release alone; guarded by the keeper's mutex
	alone    bool  // it is for one of several keys alone
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

// An Owner hears what happens to a hold. Only Cause is called under the hold's mutex.
type Owner interface {
	// Context is that of the call that acquires. Once the hold is held, it is the hold's.
	Context() context.Context
	// Answered hears of each decided question about the hold, with the context of the call
	// that has asked, or with Context.
	Answered(ctx context.Context, a *wire.Ask)
	// Held hears of a hold that begins, before anybody else can see it.
	Held()
	// Renewed hears of each decided renewal.
	Renewed(r Renewed)
	// Cause makes the error that contexts end with.
	Cause(l *Loss) error
	// Lost hears of a loss, once.
	Lost(l *Loss)
	// Released hears of the hold's end, once.
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
func (h *Hold) Init(home *Home, owner Owner, first *Handle, opts *Options, name, key string) *wire.Claim {
	h.home, h.owner, h.first, h.opts = home, owner, first, opts
	h.name = name
	h.index = notScheduled
	h.claim.SetPlain(key)
	first.hold = h
	return &h.claim
}

// InitLike makes a hold for the same lock as wanted, and its first handle.
func (h *Hold) InitLike(wanted *Hold, owner Owner, first *Handle, opts *Options) {
	h.home, h.owner, h.first, h.opts = wanted.home, owner, first, opts
	h.name, h.claim, h.several = wanted.name, wanted.claim.Again(), wanted.several
	h.index = notScheduled
	first.hold = h
}

// several is the keys of a lock of several: all of them, or one, are wanted.
type several struct {
	kind  *wire.Kind
	names []string // as the caller knows them
	keys  []string // with the prefix
}

// Several turns a hold into one of several keys, before any attempt.
func (h *Hold) Several(kind *wire.Kind, names, keys []string) {
	h.several = &several{kind, names, keys}
	h.wantSeveral()
}

func (h *Hold) wantSeveral() {
	h.name = h.several.names[0]
	h.claim.Kind, h.claim.Keys = h.several.kind, h.several.keys
}

// next is a hold for another attempt at the lock of h. A hold that was rolled back cannot
// be used again: late answers of its attempt may still arrive.
func (h *Hold) next() *Hold {
	another := &Hold{
		home: h.home, owner: h.owner, first: h.first, opts: h.opts, name: h.name,
		claim: h.claim.Again(), several: h.several, index: notScheduled,
	}
	if h.several != nil {
		another.wantSeveral() // whatever h has settled on
	}
	return another
}

// narrow makes a hold, before any attempt, one of a single key of several, as a plain lock.
// key is its name in Redis.
func (h *Hold) narrow(key string) {
	h.name, h.alone = h.home.cfg.KeyName(key), true
	h.claim.SetPlain(key)
}

// Name is its key as the caller knows it, of several the first. The other keys are Others.
func (h *Hold) Name() string { return h.name }

// Others are the keys after the first. The caller must not change them.
func (h *Hold) Others() []string {
	if h.several == nil || h.alone {
		return nil
	}
	return h.several.names[1:]
}

// Wanted is the first of the wanted keys, and how many others are wanted. An attempt may
// ask for one of them alone.
func (h *Hold) Wanted() (name string, others int) {
	if h.several == nil {
		return h.name, 0
	}
	return h.several.names[0], len(h.several.names) - 1
}

// wantsOneOf reports whether one of several keys is wanted.
func (h *Hold) wantsOneOf() bool { return h.several != nil && h.several.kind == wire.AnyOf }

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

// tried reports whether an attempt was made with it.
func (h *Hold) tried() bool { return h.claim.Token != "" }

// Acquired is the start of the attempt that acquired it.
func (h *Hold) Acquired() drift.Instant { return h.acquired }

// Agreed is how many masters had agreed when the attempt was decided.
func (h *Hold) Agreed() int { return int(h.life.agreed) }

// IfLive implements wire.Live.
func (h *Hold) IfLive(generation uint8, send func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.state > held || h.claim.Generation != generation {
		return false
	}
	send()
	return true
}

// outdated reports whether a question was asked while the hold was still a writer's. A
// refusal of it says nothing about the reader. The caller must hold h.mu.
func (h *Hold) outdated(a *wire.Ask) bool { return a.Generation() != h.claim.Generation }
