package redlock

import (
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
	"github.com/redquorum/redquorum/pool"
)

// An Option sets something for a client; [Open] and [New] check it.
type Option interface {
	applyClient(*clientOptions) error
}

// A LockOption may be given to a client, as the default of all its locks, or
// to one call. Where several set the same thing the last one counts.
type LockOption interface {
	Option
	applyLock(*lockOptions) error
}

const (
	minTTL        = 20 * time.Millisecond
	maxTTLLimit   = 24 * time.Hour
	defaultTTL    = 10 * time.Second
	defaultMaxTTL = time.Minute
	defaultOutage = 3 * time.Second
	minRenewal    = 5 * time.Millisecond
)

type clientOptions struct {
	lock      lockOptions
	maxTTL    time.Duration
	drift     drift.Policy
	clock     drift.Clock
	outage    time.Duration
	guard     GuardLevel
	retention time.Duration // of fences; 0: the default
	clockErr  time.Duration // E

	clientSkew time.Duration // of wall clocks, for fencing tokens

	strictGrants bool          // as in strict with any guard level; only for tests
	kept         time.Duration // how long masters keep fences and lease records
	longest      time.Duration // the longest TTL that a reader may have

	prefix    string
	poolOpts  []pool.Option
	poolGiven bool
	trace     *Trace
	logger    *slog.Logger
	id        string         // of the client; "": a new xid. For simulations
	chance    *chance.Source // nil except in simulations
}

type lockOptions struct {
	ttl     time.Duration
	hold    hold.Options
	backoff func(attempt int) time.Duration
	wait    time.Duration // 0: as long as it takes
	tries   int32         // 0: as long as it takes
	ttlBy   ttlOption
	reenter bool
	fair    bool
	fenced  bool
}

func defaultOptions() clientOptions {
	return clientOptions{
		lock:   lockOptions{ttl: defaultTTL, hold: hold.Options{Owner: token.ProcessOwner()}},
		maxTTL: defaultMaxTTL,
		drift:  drift.Default,
		clock:  drift.System(),
		outage: defaultOutage,

		clockErr: defaultClockError,
		guard:    GuardStandard,
		logger:   deliver.Warnings(),
	}
}

// validate checks what depends on other options.
func (o *lockOptions) validate(c *clientOptions) error {
	switch {
	case o.ttl > c.maxTTL:
		return fmt.Errorf("%v: %v is above WithMaxTTL: want %v to %v", o.ttlBy, o.ttl, c.leastTTL(), c.maxTTL)
	case o.ttl < c.leastTTL(): // the option's own check has accepted it
		return fmt.Errorf("%v: %v: want %v to %v with GuardStrict", o.ttlBy, o.ttl, c.leastTTL(), c.maxTTL)
	case c.validity(o.ttl) < o.ttl/leastPart:
		return fmt.Errorf("%v: %v leaves a validity of %v after %s: %s",
			o.ttlBy, o.ttl, max(0, c.validity(o.ttl)), c.taken(o.ttl), c.enough())
	}
	if every := o.hold.Every; !o.hold.Fixed && every > o.ttl/2 {
		return fmt.Errorf("WithRenewal: Every is %v with a TTL of %v: want %v to %v, half of the TTL",
			every, o.ttl, minRenewal, o.ttl/2)
	}
	return nil
}

// leastPart bounds the validity of a lock, which must be at least TTL/leastPart. With less, a lock
// would cost many renewals and be of little use.
const leastPart = 4

// enough says which TTL leaves enough validity, for the error of a shorter one.
func (o *clientOptions) enough() string {
	first := sort.Search(int(o.maxTTL/time.Millisecond)+1, func(ms int) bool {
		ttl := time.Duration(ms) * time.Millisecond
		return ttl >= o.leastTTL() && o.validity(ttl) >= ttl/leastPart
	})
	least := time.Duration(first) * time.Millisecond
	if least > o.maxTTL {
		return fmt.Sprintf("no TTL up to WithMaxTTL(%v) leaves a quarter: raise it, "+
			"or lower WithDrift or WithClockError", o.maxTTL)
	}
	return fmt.Sprintf("want %v or more, which leaves a quarter", least)
}

// lockOption is a LockOption made of one function.
type lockOption func(*lockOptions) error

func (f lockOption) applyLock(o *lockOptions) error     { return f(o) }
func (f lockOption) applyClient(o *clientOptions) error { return f(&o.lock) }

// clientOption is an Option made of one function.
type clientOption func(*clientOptions) error

func (f clientOption) applyClient(o *clientOptions) error { return f(o) }

// WithTries bounds the attempts of one call, whether they fail because the lock is
// taken or because there is no quorum: 1 to 1,000,000. The call then polls and does
// not queue up (see WithBackoff for the pauses). By default there is no bound: the
// call waits for a holder as long as the context allows, and for a quorum as long as
// WithOutageWait.
func WithTries(n int) LockOption {
	return lockOption(func(o *lockOptions) error {
		if n < 1 || n > 1_000_000 {
			return fmt.Errorf("WithTries: %d: want 1 to 1000000", n)
		}
		o.tries = int32(n) //nolint:gosec // it was checked above
		return nil
	})
}

// WithBackoff sets the pause after an attempt that failed; attempts count from 1. The call then
// polls and does not queue up. A negative pause means no pause. f must be safe for concurrent use.
// Without this option a polling call pauses for a random time in [50 ms, 250 ms). While there is no
// quorum the pause doubles, up to a second, and ends when a quorum begins to vote.
func WithBackoff(f func(attempt int) time.Duration) LockOption {
	return lockOption(func(o *lockOptions) error {
		if f == nil {
			return errors.New("WithBackoff: the function is nil")
		}
		o.backoff = f
		return nil
	})
}

// WithWait bounds the waiting of one call, or of all calls of a client: 1 ms to 24 h. It
// bounds neither the work nor the holding. A call that has not got the lock after d ends
// as if its context had ended: its error matches context.DeadlineExceeded, beside ErrTaken
// or ErrNoQuorum. TryLock and TryDo do not wait, and ignore it.
func WithWait(d time.Duration) LockOption {
	return lockOption(func(o *lockOptions) error {
		if d < time.Millisecond || d > maxTTLLimit {
			return fmt.Errorf("WithWait: %v: want %v to %v", d, time.Millisecond, maxTTLLimit)
		}
		o.wait = d
		return nil
	})
}

// WithOwner puts a name into the token, so that others can see who holds the lock. A client's name
// is also in the queues of the locks that it waits for. It has no influence on who gets a lock. It
// has 1 to 64 bytes of printable ASCII without spaces and colons. By default it is user@host/pid,
// as far as the process can tell.
func WithOwner(name string) LockOption {
	return lockOption(func(o *lockOptions) error {
		if err := token.CheckOwner(name); err != nil {
			return fmt.Errorf("WithOwner: %w", err)
		}
		o.hold.Owner = name
		return nil
	})
}

// WithMaxTTL sets the longest TTL that any client of these masters uses, 20 ms
// to 24 h, 1 minute by default; calls above it are refused. It is a property
// of the fleet: give every client the same.
func WithMaxTTL(d time.Duration) Option {
	return clientOption(func(o *clientOptions) error {
		if err := checkTTL("WithMaxTTL", d); err != nil {
			return err
		}
		o.maxTTL = d
		return nil
	})
}

// WithDrift sets by how much the masters' clocks may run faster or slower than this
// machine's while a lock is held; by default 1 % of the TTL and 2 ms. The validity of
// every lock is shorter by that much.
func WithDrift(p drift.Policy) Option {
	return clientOption(func(o *clientOptions) error {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("WithDrift: %w", err)
		}
		o.drift = p
		return nil
	})
}

// WithClock replaces the clock by which validity is counted, for tests:
// drift.Runtime() follows the virtual time of a testing/synctest bubble. The
// default is drift.System().
func WithClock(c drift.Clock) Option {
	return clientOption(func(o *clientOptions) error {
		if c == nil {
			return errors.New("WithClock: the clock is nil")
		}
		o.clock = c
		return nil
	})
}

// WithOutageWait sets how long a call that waits goes on without a quorum: 0 to 1 hour, 3 s by
// default. If a quorum votes again when the time is over, the call makes one more attempt. With 0
// the call ends with the first attempt that finds no quorum. The same holds if so many masters are
// misconfigured that the others make no quorum: waiting does not repair them.
func WithOutageWait(d time.Duration) Option {
	return upTo(time.Hour, "WithOutageWait", d, func(o *clientOptions) *time.Duration { return &o.outage })
}

// upTo makes an option that sets a field to a duration from 0 to most.
func upTo(most time.Duration, name string, d time.Duration, field func(o *clientOptions) *time.Duration) Option {
	return clientOption(func(o *clientOptions) error {
		if d < 0 || d > most {
			return fmt.Errorf("%s: %v: want 0 to %v", name, d, most)
		}
		*field(o) = d
		return nil
	})
}

// WithKeyPrefix puts a prefix before every key in Redis. By default there is
// none: the lock is named as the caller names it, as in other Redlock clients.
// Prefix and key have at most 1,024 bytes together.
func WithKeyPrefix(s string) Option {
	return clientOption(func(o *clientOptions) error {
		if strings.HasPrefix(s, wire.ReservedPrefix) {
			return fmt.Errorf("WithKeyPrefix: %q: the prefix %q is reserved", s, wire.ReservedPrefix)
		}
		if n := len(s); n >= wire.MaxKey {
			return fmt.Errorf("WithKeyPrefix: the prefix has %d bytes, and a key 1 at least: want at most %d together",
				n, wire.MaxKey)
		}
		o.prefix = s
		return nil
	})
}

// WithPool passes options to the pool that [Open] makes; [New] refuses it.
func WithPool(opts ...pool.Option) Option {
	return clientOption(func(o *clientOptions) error {
		o.poolOpts = append(o.poolOpts, opts...)
		o.poolGiven = true
		return nil
	})
}

// WithTrace calls the functions of t at the events they are named after. If it is given several
// times, the last one counts; [JoinTraces] joins traces.
func WithTrace(t *Trace) Option {
	return clientOption(func(o *clientOptions) error {
		if t == nil {
			return errors.New("WithTrace: the trace is nil")
		}
		o.trace = t
		return nil
	})
}

// WithLogger sets where the client logs, and the pool that [Open] makes:
//   - at warn locks that were lost, renewals that failed (the first of several in a
//     row), masters that were lost or may not vote, and an even number of masters;
//   - at info what is good news;
//   - at debug attempts and connections.
//
// By default warnings go to slog.Default(), as it is when they are logged, and nothing else is
// logged. With nil nothing is logged. Passwords are never logged, and at most the beginning of a
// token.
func WithLogger(l *slog.Logger) Option {
	return clientOption(func(o *clientOptions) error {
		if l == nil {
			l = slog.New(slog.DiscardHandler)
		}
		o.logger = l
		return nil
	})
}
