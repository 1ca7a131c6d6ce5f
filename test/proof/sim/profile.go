package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/redlock"
)

// A Profile says what happens in a run. Times are those of the run. "One in n" is how often
// something happens; 0 is never.
type Profile struct {
	Name    string
	Masters int
	Clients int
	Workers int // goroutines of each client that take locks
	Calls   int // calls of each worker
	Keys    int // that they contend for
	Slots   int // keys of LockAny
	Kinds   []weighted[Kind]

	TTL            time.Duration
	MaxTTL         time.Duration
	CommandTimeout time.Duration
	StallLimit     time.Duration
	PounceFrom     time.Duration // how long before another's hold ends Pounce begins to try, at the most
	Think          time.Duration // pause of a worker, at the most
	Gather         time.Duration // how long a client lets commands gather for one flush; 0: only those of one instant
	Poll           time.Duration // pause of a polling call, at the most
	Leases         int           // one in so many calls takes a lease
	Abandon        int           // one in so many leases is never released
	Brief          bool          // holds are short
	Edges          bool          // holds end at the boundaries: at a renewal, at the end of validity

	Latency                     time.Duration // delay of most deliveries, at the most
	SlowOneIn                   int           // deliveries are slow
	SlowLeast, SlowMost         time.Duration
	CutOneIn                    int // commands break their connection
	TwiceOneIn                  int // commands come twice
	TwiceWithin                 time.Duration
	TwiceOnly                   string        // the name of the only command that does so; "": all do
	StraggleOneIn               int           // connections whose bytes still arrive after they were closed
	Partitions, Freezes, Pauses time.Duration // how often on average
	BlockedFor                  time.Duration // how long these last, at the most
	Restarts                    time.Duration // how often on average
	DownFor                     time.Duration // at the most
	Loses                       []weighted[Loss]
	Extremes                    bool          // the rate of each clock is off by all of PPM
	Mixed                       bool          // every second client's locks have MaxTTL
	NoDrift                     bool          // no allowance is made for drift
	Together                    bool          // several masters go down at once, though never all of them
	DelayEmpty                  bool          // a master that lost its data is down longer than any lock lives
	Emptied                     time.Duration // how often all masters lose their data, at once or one after the other
	PutBack                     time.Duration // how often a master loses its data and gets its marker back
	Late                        time.Duration // how often all replies are late for a while
	LateLeast, LateMost         time.Duration // by how much then
	Refusals                    time.Duration // how often a master refuses all commands that write, for a while
	Blocks                      time.Duration // how often a client's log handler and trace block, for a while
	Closes                      time.Duration // how often a client is closed twice at once, mid-call, and reopened
	Settings                    time.Duration // how often the clients' list, MaxTTL and level are changed
	Meddles                     bool          // traces end their calls' contexts, and end locks in Trace.Held
	SharePools                  bool          // two clients each share a pool
	PPM                         int           // how far clocks' rates are off at the most, in parts per million
	MasterOffset                time.Duration
	ClientOffset                time.Duration
	MasterSteps                 time.Duration // how often masters' clocks are stepped
	StepMost                    time.Duration
	StepBack                    time.Duration // after which a step is undone, at the most; 0: never
	Sides                       time.Duration // how often masters' clocks cross the clients', as far as strict admits
	ClientSteps                 time.Duration // how often clients' wall clocks are stepped, within ClientOffset
	ClockError                  time.Duration // WithClockError of the strict guard
	Ambushes                    time.Duration // how often ambush is played
	Long                        bool          // holds last for longer than a TTL
	Updates                     bool          // the holders read, change and write a set
	StopOneIn                   int           // holders are stopped right before they write
	Unfenced                    bool          // the set does not look at fencing tokens
	Guard                       redlock.GuardLevel
	Fencing                     bool
	Litter                      bool // no key may be left at the end
	KeepsAll                    bool // no renewed lock may be lost
	Untimed                     bool // clients have the default timeout; CommandTimeout only bounds their calls
	MayOverlap                  bool // two may hold a lock at once: the profile is about their tokens
}

// Kind says which call a worker makes.
type Kind string

// Kinds of calls.
const (
	Try          Kind = "TryLock"
	Wait         Kind = "Lock"
	Poll         Kind = "Lock, polling"
	Fair         Kind = "Lock, fair"
	Pounce       Kind = "TryLock, at the end of another's hold"
	Cancelled    Kind = "Lock, cancelled"
	CancelledAny Kind = "LockAny, cancelled"
	TryAny       Kind = "TryLockAny"
	Do           Kind = "Do"
	TryDo        Kind = "TryDo"
	Lead         Kind = "Lead"
	TryRead      Kind = "TryRLock"
	TryOthers    Kind = "another call that does not wait"
	All          Kind = "LockAll"
	Any          Kind = "LockAny"
	Read         Kind = "RLock"
	Write        Kind = "RWMutex.Lock"
	HandOver     Kind = "HandOver" // to one client or to several, of which one may adopt it
)

// Loss is what a master has lost when it comes back.
type Loss string

// Losses.
const (
	Nothing Loss = "with its data"
	Tail    Loss = "without what it was last told"
	Empty   Loss = "empty"
)

// Draw returns the profile of that name; the seed decides its details. It panics if there is no
// such profile.
func Draw(name string, seed uint64) *Profile {
	d := roll(seed, chance.HashText("profile"), chance.HashText(name))
	p := &Profile{
		Guard:   redlock.GuardOff,
		Name:    name,
		Masters: 3 + 2*d.upTo(2),
		Clients: 2 + d.upTo(2),
		Workers: 1,
		Keys:    1 + d.upTo(2),
		Slots:   2,
		TTL:     time.Duration(100+20*d.upTo(11)) * time.Millisecond,
		Think:   5 * time.Millisecond,
		Poll:    10 * time.Millisecond,
		Latency: d.between(200*time.Microsecond, 3*time.Millisecond),
		PPM:     4500,
	}
	p.MaxTTL = p.TTL
	p.StallLimit = p.TTL / 2
	p.MasterOffset, p.ClientOffset = time.Hour, time.Hour
	all := slices.Concat(profiles, []profile{{guardedFlushes, flushingGuarded}, {users, ofUsers}})
	for _, known := range all {
		if known.name != name {
			continue
		}
		known.set(p, d)
		// Odd numbers ensure that no two timers of a client that start together also end
		// together. The monitor has such timers, too.
		p.StallLimit += 1_234_567
		if p.CommandTimeout == 0 { // as by default in the library
			p.CommandTimeout = min(max(p.TTL/20, 50*time.Millisecond), 250*time.Millisecond)
		}
		p.CommandTimeout += 345_679
		if p.Calls == 0 {
			p.Calls = max(2, 24/(p.Clients*p.Workers))
		}
		return p
	}
	panic(fmt.Sprintf("no profile is called %q", name))
}
