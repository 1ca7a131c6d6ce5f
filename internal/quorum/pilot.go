package quorum

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// NoPilot means that no master is the pilot.
const NoPilot = -1

const (
	// refusedFor is how long a caller passes over a master that has refused it a queue, for
	// any reason.
	refusedFor = time.Second
	// forbiddenFor is how long all callers do so if the user may not use queues there.
	forbiddenFor = 5 * time.Second
)

// A Candidate is a master to choose from. *pipeline.Pipeline is one.
type Candidate interface {
	Name() string // the same for all clients, however they order their masters
	Connected() bool
	Stats() pipeline.Stats
}

// A Chooser chooses one master for each key, the key's pilot. The pilot keeps the key's
// waiting queue: waiters queue there, and ask it before they ask the other masters, so that
// they do not split the votes. When it is down, the next master in the key's order is the
// pilot. A Chooser asks no master; its callers report what the masters answered. It is safe
// for concurrent use, and never blocks.
type Chooser struct {
	masters []Candidate
	mayVote func(master int) bool
	since   time.Time // marks count time from this instant
	names   []uint64  // hashes of the masters' names

	unanswered []atomic.Int32         // questions that a master did not answer in time, and has not answered since
	forbidden  []atomic.Pointer[mark] // by master: a mark if queues are forbidden there, which may have ended; or nil
}

// NewChooser makes a Chooser. mayVote reports whether a master may vote now; it is called for
// each choice and must not block.
func NewChooser[M Candidate](masters []M, mayVote func(master int) bool) *Chooser {
	n := len(masters)
	c := &Chooser{
		masters: make([]Candidate, n), mayVote: mayVote, since: time.Now(), names: make([]uint64, n),
		unanswered: make([]atomic.Int32, n), forbidden: make([]atomic.Pointer[mark], n),
	}
	for i, m := range masters {
		c.masters[i], c.names[i] = m, chance.HashText(m.Name())
	}
	return c
}

// Of returns the index of a key's pilot. The pilot is connected, may vote, answers and permits a
// queue; among such masters it has the highest weight (rendezvous hashing). So clients whose
// lists are ordered differently agree, and when a master is not there only its own keys get
// another pilot. Masters in passed are passed over. NoPilot: there is no such master. key has
// the client's prefix.
func (c *Chooser) Of(key string, passed MasterSet) int {
	h := chance.HashText(key)
	for range c.masters {
		best, most := NoPilot, uint64(0)
		for i, name := range c.names {
			if weight := chance.Mix(h ^ name); !passed.Has(i) && (best == NoPilot || weight > most) {
				best, most = i, weight
			}
		}
		if best == NoPilot || c.fit(best) {
			return best
		}
		passed.Add(best)
	}
	return NoPilot
}

// fit reports whether a master can be a pilot now. Of calls it only until one master is fit.
func (c *Chooser) fit(master int) bool {
	if c.unanswered[master].Load() != 0 || !c.masters[master].Connected() || !c.mayVote(master) {
		return false
	}
	m := c.forbidden[master].Load()
	return m == nil || !c.stands(master, *m)
}

// Voting returns how many masters are connected and may vote now.
func (c *Chooser) Voting() (n int) {
	for i, m := range c.masters {
		if m.Connected() && c.mayVote(i) {
			n++
		}
	}
	return n
}

// Silent notes that a master has not answered a question in time. Until Answered it is
// no pilot.
func (c *Chooser) Silent(master int) { c.unanswered[master].Add(1) }

// Answered takes one Silent back: the answer has come, or the question is lost.
func (c *Chooser) Answered(master int) { c.unanswered[master].Add(-1) }

// Forbidden notes an error with which a master has refused a queue. If the user lacks a
// permission (pipeline.ConfigError), the master is no pilot for five seconds, or until it is
// dialled again: permissions may be given while clients run. Other errors are not noted.
func (c *Chooser) Forbidden(master int, err error) {
	if _, ok := errors.AsType[*pipeline.ConfigError](err); ok {
		m := c.mark(master, forbiddenFor)
		c.forbidden[master].Store(&m)
	}
}

// A mark says that a master has refused to be a pilot. It ends with the connection on which it was
// made, and after some time in any case. Otherwise a caller that waits without the queue would be
// overtaken by all waiters that queue there later. The zero mark has ended.
type mark struct {
	epoch uint64        // of the connection
	until time.Duration // since Chooser.since
}

func (c *Chooser) mark(master int, d time.Duration) mark {
	return mark{epoch: c.masters[master].Stats().Epoch, until: time.Since(c.since) + d}
}

// stands reports whether a mark has not ended yet.
func (c *Chooser) stands(master int, m mark) bool {
	return m.until > time.Since(c.since) && m.epoch == c.masters[master].Stats().Epoch
}

// Refusals are the masters that have refused one caller a queue. The zero value has none.
// It is for one goroutine.
type Refusals struct{ marks []mark } // by master; nil: none

// Add notes that a master has refused the caller a queue, for any reason: it is
// passed over for a second, or until it is dialled again.
func (r *Refusals) Add(c *Chooser, master int) {
	if r.marks == nil {
		r.marks = make([]mark, len(c.masters))
	}
	r.marks[master] = c.mark(master, refusedFor)
}

// Masters returns the masters that have refused lately, for Chooser.Of to pass over.
func (r *Refusals) Masters(c *Chooser) (masters MasterSet) {
	for i, m := range r.marks {
		if c.stands(i, m) {
			masters.Add(i)
		}
	}
	return masters
}
