package wire

import (
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
)

// ReservedPrefix begins every key that the library keeps beside the locks.
const ReservedPrefix = "redquorum:"

const (
	// MaxKey is the greatest length of a key in bytes, with the prefix. It is far above
	// any sensible name, and far below the limit of Redis.
	MaxKey = 1024
	// MaxKeys bounds the keys of one claim. A script takes about 2 µs a key, and the master
	// does nothing else meanwhile.
	MaxKeys = 128
)

// Config holds what all locks of a client share.
type Config struct {
	Ballots ballot.Config
	Pilots  *quorum.Chooser
	// ID is the client's name in queues: owner and client, as in its tokens.
	ID string
	// Strict: every grant compares clocks, and masters keep lease records (GuardStrict).
	Strict    bool
	Retention time.Duration // of fences and lease records
	Longest   time.Duration // the longest TTL that a reader of any client may have
	// Successors is notified which client a release has handed a key over to.
	Successors Successors
}

// A Wire writes the locks of one client. It is safe for concurrent use.
type Wire struct {
	// Fences counts what the client has done for fencing tokens.
	Fences Fences

	cfg      Config
	everyone quorum.MasterSet
	asks     sync.Pool // of *Ask
	batches  batches
	// Arguments in milliseconds, boxed once.
	retention, longest any
	id                 any // the client's, boxed once
}

// New makes the wire of a client.
func New(cfg Config) *Wire {
	w := &Wire{
		cfg: cfg, everyone: quorum.All(len(cfg.Ballots.Masters)),
		retention: cfg.Retention.Milliseconds(), longest: cfg.Longest.Milliseconds(),
		id: cfg.ID,
	}
	w.batches = newBatches(&cfg, w.retention)
	return w
}

// Everyone returns the set of all masters.
func (w *Wire) Everyone() quorum.MasterSet { return w.everyone }

// scripted reports whether the claim needs the scripts that know fences and leases.
func (w *Wire) scripted(c *Claim) bool { return c.Fenced || w.cfg.Strict }
