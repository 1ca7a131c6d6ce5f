package redlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Verdict sums up the masters' answers to [Client.Inspect].
type Verdict string

// Verdicts.
const (
	// VerdictUnknown: too few masters answered to decide between the others.
	VerdictUnknown Verdict = "unknown"
	// VerdictFree: no master that answered has anything at the key, and the others are too few for
	// a quorum.
	VerdictFree Verdict = "free"
	// VerdictHeld: one token (in a read-write lock, at least one reader) has a quorum.
	VerdictHeld Verdict = "held by a quorum"
	// VerdictSplit: there are several tokens and none has a quorum. This happens while contenders
	// collide; they retry, or their keys expire.
	VerdictSplit Verdict = "split"
	// VerdictPartial: there is one token, without a quorum. An attempt or a release is under way, a
	// hold was lost, or masters have forgotten a hold.
	VerdictPartial Verdict = "held without a quorum"
)

// An Inspection says who holds a lock, as the masters see it. All masters are asked at the same
// time, but they do not stop for it: while a lock changes hands, some may answer with the state
// before that and others with the state after it.
type Inspection struct {
	Key     string
	Masters []MasterHold // in the order of the URLs
	Verdict Verdict
	// Holders has every token that was seen, those on most masters first. With VerdictHeld the
	// first has a quorum; in a read-write lock, several readers may have one.
	Holders []Holder
	Need    int // masters that make a quorum
}

// A MasterHold is one master's part of an Inspection.
type MasterHold struct {
	Master string
	// Held is the key as the master has it; nil: free, or unknown because of
	// Err.
	Held *Holder
	// Readers are the readers of a read-write lock, by the master's own clock, the last to expire
	// first; at most 100 of Held.Readers are listed.
	Readers []Holder
	// RoundTrip is the time from the question to this answer, queueing
	// included; 0 if there was none.
	RoundTrip time.Duration
	Err       error
}

// Inspect asks all masters who holds the key, in one round trip, and changes
// nothing. It knows every kind of lock: plain ones, also from other Redlock
// clients, the readers of a read-write lock, and keys that are no locks.
//
// It waits for all masters, not only for a quorum, each for the masters' timeout at
// the most. A master that could not be asked is a row with Err, not an error.
// Inspect returns an error only when the key is bad (see Lock), when ctx ends first
// (the error then matches ctx's error), or when the client is closed (ErrClosed).
func (c *Client) Inspect(ctx context.Context, key string) (*Inspection, error) {
	l, err := c.newLock(ctx, wire.OpInspect, key, nil)
	if err != nil {
		return nil, err
	}
	r := c.wire.Inspect(l.handle.Hold().Claim(), c.opts.clock.Now())
	defer r.Done()
	if cause := r.Wait(ctx, c.holds.AnswerTimeout(l.opts.ttl)); cause != nil {
		return nil, endedBy(ctx, fmt.Errorf("redlock: inspect %q: %w", key, cause))
	}
	in := &Inspection{Key: key, Masters: c.masterHolds(r), Need: c.group.Need}
	in.judge()
	return in, nil
}

// masterHolds gives each master's part of a decided inspection.
func (c *Client) masterHolds(r *wire.Ask) []MasterHold {
	holds := make([]MasterHold, len(c.group.Masters))
	for i, part := range r.Parts(nil) {
		if part.State != nil {
			holds[i] = c.masterHold(part.State)
			if held := holds[i].Held; held != nil {
				held.Own = c.errs.made(held.Token) // nothing else refers to it
			}
		} else {
			holds[i].Err = c.errs.publicPart(part.Part)
		}
		holds[i].Master = c.group.Masters[i].Name()
	}
	return holds
}

// masterHold converts what a master reported to what users see.
func (c *Client) masterHold(state *wire.KeyState) MasterHold {
	m := MasterHold{Held: (*Holder)(state.Held), RoundTrip: state.RoundTrip}
	for _, r := range state.Readers {
		m.Readers = append(m.Readers, Holder{
			Token:   r.Token,
			Owner:   r.Owner,
			Type:    m.Held.Type,
			Masters: 1,
			TTL:     r.TTL,
			Own:     c.errs.made(r.Token),
		})
	}
	return m
}

// holders lists the holders that one master names: each reader, the one token, or what the key has
// instead of a lock.
func (m *MasterHold) holders() []Holder {
	switch {
	case m.Held == nil:
		return nil
	case len(m.Readers) > 0:
		return m.Readers
	default:
		return []Holder{*m.Held}
	}
}

// judge counts the tokens and sets Holders and Verdict.
func (in *Inspection) judge() {
	type mark struct{ token, kind string }
	counted := make(map[mark]*Holder)
	ttls := make(map[mark][]time.Duration)
	silent, cut := 0, 0 // masters that may have a token that they did not report
	for i := range in.Masters {
		m := &in.Masters[i]
		if m.Err != nil {
			silent++
		} else if m.Held != nil && m.Held.Readers > len(m.Readers) {
			cut++
		}
		for _, h := range m.holders() {
			id := mark{h.Token, h.Type}
			ttls[id] = append(ttls[id], h.TTL)
			if n := counted[id]; n != nil {
				n.Masters++
			} else {
				counted[id] = &h
			}
		}
	}
	for id, h := range counted {
		h.TTL = lastsFor(ttls[id], in.Need)
		h.Stuck = wire.Stuck(h.Type, h.TTL)
		in.Holders = append(in.Holders, *h)
	}
	slices.SortFunc(in.Holders, func(a, b Holder) int {
		return cmp.Or(b.Masters-a.Masters, cmp.Compare(a.Token, b.Token), cmp.Compare(a.Type, b.Type))
	})
	most := 0
	if len(in.Holders) > 0 {
		most = in.Holders[0].Masters
	}
	switch {
	case most >= in.Need:
		in.Verdict = VerdictHeld
	case most+silent+cut >= in.Need:
		in.Verdict = VerdictUnknown
	case len(in.Holders) == 0:
		in.Verdict = VerdictFree
	case len(in.Holders) == 1:
		in.Verdict = VerdictPartial
	default:
		in.Verdict = VerdictSplit
	}
}

// lastsFor returns the time until fewer than need of the keys are left. If there are fewer from the
// start, it is the time until none is left.
func lastsFor(ttls []time.Duration, need int) time.Duration {
	slices.SortFunc(ttls, func(a, b time.Duration) int { // longest first
		return cmp.Compare(uint64(b), uint64(a)) // negative means never: longer than all others
	})
	if len(ttls) < need {
		return ttls[0]
	}
	return ttls[need-1]
}

func (in *Inspection) silent() (n int) {
	for i := range in.Masters {
		if in.Masters[i].Err != nil {
			n++
		}
	}
	return n
}

// String is the verdict in one sentence for people.
func (in *Inspection) String() string {
	total, silent := len(in.Masters), in.silent()
	var s string
	switch in.Verdict {
	case VerdictFree:
		s = fmt.Sprintf("free on %d of %d", total-silent, total)
	case VerdictHeld:
		s = in.heldBy()
	case VerdictSplit:
		s = fmt.Sprintf("split, nobody has the quorum of %d: %s", in.Need, in.listHolders())
	case VerdictPartial:
		s = fmt.Sprintf("held without the quorum of %d: %s", in.Need, in.listHolders())
	default:
		s = "unknown"
		if len(in.Holders) > 0 {
			s += ", " + in.listHolders()
		}
	}
	if silent > 0 {
		s += fmt.Sprintf(", %d did not answer", silent)
	}
	return s
}

// heldBy describes the holder with a quorum, or the readers.
func (in *Inspection) heldBy() string {
	first := &in.Holders[0]
	readers := 0
	ttl := first.TTL
	for i := range in.Holders {
		h := &in.Holders[i]
		if h.Masters < in.Need {
			break
		}
		readers++
		if uint64(h.TTL) > uint64(ttl) {
			ttl = h.TTL
		}
	}
	total := len(in.Masters)
	if readers > 1 {
		return fmt.Sprintf("held by %d readers on a quorum of %d, %s of the last", readers, total, left(ttl))
	}
	return fmt.Sprintf("held by %s on %d of %d, %s at the quorum", first.name(), first.Masters, total, left(ttl))
}

// mostListed is how many holders a sentence names.
const mostListed = 3

func (in *Inspection) listHolders() string {
	var s string
	for i := range in.Holders {
		if i > 0 {
			s += ", "
		}
		if i == mostListed {
			return s + fmt.Sprintf("and %d more", len(in.Holders)-i)
		}
		h := &in.Holders[i]
		s += fmt.Sprintf("%s on %d of %d", h.name(), h.Masters, len(in.Masters))
	}
	return s
}

// name returns a holder's name for people.
func (h *Holder) name() string {
	kind := ""
	if h.Type == "zset" {
		kind = "reader "
	}
	switch {
	case h.Owner != "":
		return fmt.Sprintf("%s%q", kind, h.Owner)
	case h.Type == "string" || h.Token != "":
		return fmt.Sprintf("%stoken %q", kind, tokens.Short(h.Token))
	case h.Type == "zset":
		return "a sorted set without readers"
	default:
		return "a " + h.Type + " that is not a lock"
	}
}

// left puts a TTL in words.
func left(ttl time.Duration) string {
	switch {
	case ttl < 0:
		return "no expiry"
	case ttl < time.Second:
		return fmt.Sprintf("%d ms left", ttl.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s left", ttl.Seconds())
	}
}
