package hold

import (
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/internal/wire"
)

// Config has what all holds of a client share.
type Config struct {
	*quorum.Group
	Wire   *wire.Wire
	Voters *voters.Monitor
	// CommandTimeout is how long to wait for one master; 0: see Timeout and AnswerTimeout.
	CommandTimeout time.Duration
	// Validity is how long a lock of this TTL is guaranteed. It counts from before the
	// first byte of the acquisition was sent.
	Validity func(ttl time.Duration) time.Duration
	// Allowance is how much longer than its TTL a key may live on a master, by this
	// machine's clock.
	Allowance func(ttl time.Duration) time.Duration
	// KeyName returns the caller's name for a key.
	KeyName func(key string) string
	// Unlocked is the cause of contexts that end with a release.
	Unlocked error
	// ClientID is the client's part of its tokens; Owner is the name in most of them.
	ClientID, Owner string
}

const (
	leastTimeout = 50 * time.Millisecond
	// mostAtEnd bounds the timeout of Close, and of questions to masters that are near.
	// mostTimeout bounds the timeout of acquisitions, and of questions to distant masters.
	mostAtEnd   = 250 * time.Millisecond
	mostTimeout = 2 * time.Second
)

// A Manager has the holds of a client. It is safe for concurrent use.
type Manager struct {
	cfg     Config
	prefix  string // of most tokens
	renewer *renewer
	ending  sync.WaitGroup // goroutines that end contexts of lost holds
}

// New makes the manager of a client's holds. Its one goroutine starts with the first hold;
// Stop ends it.
func New(cfg Config) *Manager {
	h := &Manager{cfg: cfg, prefix: token.Prefix(cfg.Owner, cfg.ClientID)}
	h.renewer = newRenewer(h)
	return h
}

// Timeout returns how long an acquisition waits for one master: a twentieth of the TTL, 50 ms to
// 2 s, and never longer than the validity.
func (manager *Manager) Timeout(ttl time.Duration) time.Duration {
	return manager.timeout(ttl, mostTimeout)
}

// EndTimeout does the same for the client's Close: 250 ms at most.
func (manager *Manager) EndTimeout(ttl time.Duration) time.Duration {
	return manager.timeout(ttl, mostAtEnd)
}

func (manager *Manager) timeout(ttl, most time.Duration) time.Duration {
	d := manager.cfg.CommandTimeout
	if d == 0 {
		d = min(max(ttl/20, leastTimeout), most)
	}
	return min(d, manager.cfg.Validity(ttl))
}

// AnswerTimeout returns how long all other questions wait: as long as Close, or two round trips
// to a quorum if that is longer, 2 s at most.
func (manager *Manager) AnswerTimeout(ttl time.Duration) time.Duration {
	d := manager.EndTimeout(ttl)
	if manager.cfg.CommandTimeout != 0 {
		return d
	}
	return min(max(d, min(2*manager.quorumAway(), mostTimeout)), manager.cfg.Validity(ttl))
}

// quorumAway returns the round trip to the slowest master of the nearest connected quorum.
func (manager *Manager) quorumAway() time.Duration {
	var trips [quorum.Most]time.Duration // on the stack
	up := 0
	for _, m := range manager.cfg.Masters {
		if m.Connected() {
			trips[up] = m.RoundTrip()
			up++
		}
	}
	if up == 0 {
		return 0
	}
	slices.Sort(trips[:up])
	return trips[min(manager.cfg.Need, up)-1]
}

// NewToken makes a token under an owner's name (S3).
func (manager *Manager) NewToken(owner string) string {
	prefix := manager.prefix
	if owner != manager.cfg.Owner {
		prefix = token.Prefix(owner, manager.cfg.ClientID)
	}
	return token.New(manager.cfg.Chance, prefix)
}

// Held returns how many holds there are. It does not block.
func (manager *Manager) Held() int { return int(manager.renewer.held.Load()) }

func (manager *Manager) now() drift.Instant { return manager.cfg.Clock.Now() }

// closed reports whether the client's Close has begun.
func (manager *Manager) closed() bool { return manager.cfg.Closing.Err() != nil }

// LoseAll is for the client's Close. It ends the contexts of all holds, waits for that, and
// accepts no new ones. It returns the holds, and how long each was still valid. Their keys stay: see
// ReleaseAll.
func (manager *Manager) LoseAll() map[*Hold]time.Duration {
	holds := manager.renewer.close()
	valid := make(map[*Hold]time.Duration, len(holds))
	for _, h := range holds {
		valid[h] = h.Remaining()
	}
	for _, h := range holds {
		h.mu.Lock()
		h.lose(manager.now(), &Loss{Reason: Closed})
		h.mu.Unlock()
	}
	manager.ending.Wait() // each was counted under its hold's mutex, and nothing is held any more
	return valid
}

// releasePoll is how often ReleaseAll looks whether a portion has been released.
const releasePoll = time.Millisecond

// ReleaseAll releases the holds, in portions for which the queues have room. It sends the next
// portion when at most one is under way, or after the masters' timeout for this TTL.
func (manager *Manager) ReleaseAll(holds map[*Hold]time.Duration, ttl time.Duration) {
	portion := manager.mostUnderWay()
	sent := 0
	for h := range holds {
		h.mu.Lock()
		h.releaseUnasked()
		h.mu.Unlock()
		if sent++; sent%portion != 0 && sent != len(holds) {
			continue
		}
		deadline := time.Now().Add(manager.EndTimeout(ttl))
		for manager.cfg.InFlight.Load() > int64(portion) && time.Now().Before(deadline) {
			time.Sleep(releasePoll)
		}
	}
}

// Stop ends the goroutine and waits for it.
func (manager *Manager) Stop() { manager.renewer.stop() }
