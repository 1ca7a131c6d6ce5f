// Package history records who held which lock and when, and checks what Redlock promises about
// that. It is independent of the library.
package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Hold is one client's belief that it holds a lock. Instants are counted from
// the start of the run, by a clock that all clients share.
type Hold struct {
	Client string // which client and worker
	Op     string // the call that got it
	Keys   []string
	Shared bool   // a reader's
	Token  string // owner mark; holds of one token are one hold that was handed on
	Fence  uint64 // fencing token; 0: none

	Asked    time.Duration // the call began
	Granted  time.Duration // it returned
	Until    time.Duration // validity runs out, as last extended
	Ended    time.Duration // unlocked, or known to be lost; 0: not before Until
	Released time.Duration // the release was confirmed; 0: it was not
}

// End returns when the belief ends.
func (h *Hold) End() time.Duration {
	if h.Ended != 0 {
		return min(h.Until, h.Ended)
	}
	return h.Until
}

func (h *Hold) String() string {
	mode := "holds"
	if h.Shared {
		mode = "reads"
	}
	fence := ""
	if h.Fence != 0 {
		fence = fmt.Sprintf(" fence %d", h.Fence)
	}
	keys := strings.Join(h.Keys, "+")
	return fmt.Sprintf("%s %s %s by %s [%v, %v)%s", h.Client, mode, keys, h.Op, h.Granted, h.End(), fence)
}

// A Violation is a broken promise.
type Violation struct {
	Kind string // one of the constants below
	Text string
	At   time.Duration
	File string // a picture of it, which the caller may remove; "": none
}

// Kinds of violations.
const (
	Overlap   = "two holders"
	Permits   = "more holders than permits"
	Fence     = "fencing tokens"
	Litter    = "keys left behind"
	Update    = "lost update"
	Linear    = "not linearizable"
	Unbounded = "call beyond its bound"
	Stuck     = "no progress"
	Needless  = "lost without need"
	Unheard   = "not told of its loss"
	Undone    = "held after it was given back"
)

func (v Violation) String() string {
	if v.File != "" {
		return fmt.Sprintf("%v %s: %s; see %s", v.At, v.Kind, v.Text, v.File)
	}
	return fmt.Sprintf("%v %s: %s", v.At, v.Kind, v.Text)
}

// A History is the holds of a run, in the order in which they were granted.
type History []*Hold

// Check finds violations of the rules for any history.
func (h History) Check() []Violation {
	return append(h.Overlaps(), h.Fences()...)
}

// byKey returns the sorted keys, and the holds of each key in the order in which they were
// granted.
func (h History) byKey() (keys []string, holds map[string]History) {
	holds = make(map[string]History)
	for _, hold := range h {
		for _, key := range hold.Keys {
			holds[key] = append(holds[key], hold)
		}
	}
	for key, list := range holds {
		keys = append(keys, key)
		slices.SortStableFunc(list, func(a, b *Hold) int { return int(a.Granted - b.Granted) })
	}
	slices.Sort(keys)
	return keys, holds
}

// Overlaps finds holds of one key that exclude each other and overlap in time:
// [Granted, End) of each. Readers do not exclude readers.
func (h History) Overlaps() (found []Violation) {
	keys, holds := h.byKey()
	for _, key := range keys {
		var open History // holds that may overlap with later ones
		for _, b := range holds[key] {
			open = slices.DeleteFunc(open, func(a *Hold) bool { return a.End() <= b.Granted })
			if b.End() <= b.Granted {
				continue
			}
			for _, a := range open {
				if a.Token != b.Token && !(a.Shared && b.Shared) {
					text := fmt.Sprintf("%q: %v; %v", key, a, b)
					found = append(found, Violation{Kind: Overlap, Text: text, At: b.Granted})
				}
			}
			open = append(open, b)
		}
	}
	return found
}

// CheckPermits finds instants at which more than limit of the keys were held.
func (h History) CheckPermits(keys []string, limit int) (found []Violation) {
	var of History
	for _, hold := range h {
		if slices.ContainsFunc(hold.Keys, func(k string) bool { return slices.Contains(keys, k) }) {
			of = append(of, hold)
		}
	}
	slices.SortStableFunc(of, func(a, b *Hold) int { return int(a.Granted - b.Granted) })
	var open History
	for _, b := range of {
		open = slices.DeleteFunc(open, func(a *Hold) bool { return a.End() <= b.Granted })
		if b.End() <= b.Granted {
			continue
		}
		if open = append(open, b); len(open) > limit {
			text := fmt.Sprintf("%d of %d: %v", len(open), limit, open)
			found = append(found, Violation{Kind: Permits, Text: text, At: b.Granted})
		}
	}
	return found
}

// Fences checks fencing tokens. Those of exclusive holds of a key are unique and rise in real
// time: a call that begins after another hold was granted gets a higher one. A reader gets the
// highest so far, so never less than any hold, of a reader or not, that was granted before it
// asked.
func (h History) Fences() (found []Violation) {
	keys, holds := h.byKey()
	for _, key := range keys {
		owner := make(map[uint64]*Hold)
		var granted History // sorted by Granted
		for _, b := range holds[key] {
			if b.Fence == 0 {
				continue
			}
			if a := owner[b.Fence]; a != nil && a.Token != b.Token && !b.Shared {
				text := fmt.Sprintf("%q: the same twice: %v; %v", key, a, b)
				found = append(found, Violation{Kind: Fence, Text: text, At: b.Granted})
			}
			for _, a := range granted {
				if a.Granted >= b.Asked || a.Token == b.Token {
					continue
				}
				if b.Fence < a.Fence || b.Fence == a.Fence && !b.Shared {
					text := fmt.Sprintf("%q: not rising: %v; then %v", key, a, b)
					found = append(found, Violation{Kind: Fence, Text: text, At: b.Granted})
					break
				}
			}
			if !b.Shared {
				owner[b.Fence] = b
			}
			granted = append(granted, b)
		}
	}
	return found
}
