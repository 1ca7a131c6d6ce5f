package hold

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Hold is a lock from the first byte of the attempt that acquires it until it is
// released or lost. It is made in place by Init, and must not be copied. It is safe for
// concurrent use from when it is held.
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

	// mu guards what follows. Under it calls are queued, so that nothing of this hold
	// follows its release, but nothing blocks. It is released by unlock.
	mu      sync.Mutex
	life    life
	renewal renewal
	handles map[*Handle]struct{} // those that hold, the first included; nil: just the first

	setting ballot.Count // questions that may set or prolong the keys and that some master has not answered

	index    int32 // in the keeper's heap, guarded by its mutex; notScheduled if it is not there
	alone    bool  // it is for one of several keys alone
	sent     bool  // the release has been sent; guarded by mu
	extended bool  // an extension was sent: keys may outlive the TTL; guarded by mu
}

// Options say how a hold is named and renewed. They are not changed any more once they
// are given.
type Options struct {
	// Every is the time between renewals, from the start of one to the start of the
	// next; 0: a third of the TTL.
	Every time.Duration
	// MaxHold: no renewal starts later than this after the hold was acquired; 0: no
	// bound.
	MaxHold time.Duration
	// MaxCount bounds the number of renewals; 0: no bound.
	MaxCount int
	// Fixed: it is a lease, and not renewed.
	Fixed bool
	// Owner is the name in its tokens.
	Owner string
}

// every is the renewal interval of a hold with a TTL.
func (o *Options) every(ttl time.Duration) time.Duration {
	if o.Every != 0 {
		return o.Every
	}
	return ttl / 3
}

// An Owner is told what becomes of a hold. Nothing is called under the hold's mutex but
// Cause.
type Owner interface {
	// Context is that of the call that acquires; from when the hold is held, the hold's.
	Context() context.Context
	// Answered is told of each question about the hold when it is decided, with the context
	// of the call that has asked, or Context.
	Answered(ctx context.Context, a *wire.Ask)
	// Held is told of a hold that begins, before anybody else can see it.
	Held()
	// Renewed is told of each renewal that was decided.
	Renewed(r Renewed)
	// Cause makes the error that contexts end with.
	Cause(l *Loss) error
	// Lost is told of a loss, once.
	Lost(l *Loss)
	// Released is told of the hold's end at an instant, once.
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

// InitLike makes a hold for what wanted is for, and its first handle.
func (h *Hold) InitLike(wanted *Hold, owner Owner, first *Handle, opts *Options) {
	h.home, h.owner, h.first, h.opts = wanted.home, owner, first, opts
	h.name, h.claim, h.several = wanted.name, wanted.claim.Again(), wanted.several
	h.index = notScheduled
	first.hold = h
}

// several are keys of which all, or one, are wanted.
type several struct {
	kind  *wire.Kind
	names []string // as the caller knows them
	keys  []any    // as arguments of commands
}

// Several makes a hold that was not attempted yet that of several keys.
func (h *Hold) Several(kind *wire.Kind, names []string, keys []any) {
	h.several = &several{kind, names, keys}
	h.wantSeveral()
}

func (h *Hold) wantSeveral() {
	h.name = h.several.names[0]
	h.claim.Kind, h.claim.Keys = h.several.kind, h.several.keys
}

// next is a hold for another attempt at what h was for. A hold that was rolled back is
// of no more use: late answers of its attempt are still on their way.
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

// Name is its key as the caller knows it, the first where there are several; Others are
// those beside it, not to be changed.
func (h *Hold) Name() string { return h.name }

// Others are the keys beside the first.
func (h *Hold) Others() []string {
	if h.several == nil || h.alone {
		return nil
	}
	return h.several.names[1:]
}

// Wanted is the first of the keys that are wanted, of which an attempt may ask for one
// alone, and how many there are beside it.
func (h *Hold) Wanted() (name string, others int) {
	if h.several == nil {
		return h.name, 0
	}
	return h.several.names[0], len(h.several.names) - 1
}

// WantsOneOf reports whether one of several keys is wanted.
func (h *Hold) WantsOneOf() bool { return h.several != nil && h.several.kind.OneOf }

// Claim is what it has, or wants, on the masters. Of a hold that is held only Token
// and Fenced may be read.
func (h *Hold) Claim() *wire.Claim { return &h.claim }

// Owner is who was given to Init.
func (h *Hold) Owner() Owner { return h.owner }

// Fence is its fencing token; 0: it has none.
func (h *Hold) Fence() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claim.Fence
}

// Start is when the attempt began whose decision its validity counts from. It is for the
// goroutine that acquires.
func (h *Hold) Start() drift.Instant { return h.life.start }

// Acquired is the start of the attempt that acquired it.
func (h *Hold) Acquired() drift.Instant { return h.acquired }

// Agreed is how many masters had agreed when that was decided.
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

// outdated reports whether a question was about the writer that the hold was and is no
// more: a refusal says nothing about the reader then. The caller must hold h.mu.
func (h *Hold) outdated(a *wire.Ask) bool { return a.Generation() != h.claim.Generation }
