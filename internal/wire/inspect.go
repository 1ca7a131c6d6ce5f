package wire

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/token"
)

// A KeyState describes what is at a lock's key on one master.
type KeyState struct {
	Held      *quorum.Held // nil: nothing
	Readers   []Reading    // of a read-write lock, the longest TTL first; at most 100
	RoundTrip time.Duration
}

// A Reading is a reader's entry.
type Reading struct {
	Token, Owner string
	TTL          time.Duration
}

// argListedReaders is how many readers a master lists, boxed once.
var argListedReaders any = 100

// Inspect asks all masters what is at the claim's key.
func (w *Wire) Inspect(c *Claim, start drift.Instant) *Ask {
	a := w.newAsk(OpInspect)
	a.read = readInspection
	a.Start = start
	a.eval(script.Inspect, c.Keys, 0, time.Time{}, argListedReaders)
	return a
}

func readInspection(a *Ask, f *fact, reply any) ballot.Answer {
	state, ok := readKeyState(reply)
	if !ok {
		return ballot.Answer{}
	}
	state.RoundTrip = a.w.cfg.Ballots.Clock.Now().Sub(a.Start)
	f.state = state
	return agreed
}

// readKeyState reads what the script inspect returns.
func readKeyState(reply any) (*KeyState, bool) {
	parts, ok := reply.([]any)
	if !ok || len(parts) < 4 || len(parts)%2 != 0 {
		return nil, false
	}
	kind, ok1 := readType(parts[0])
	ms, ok2 := parts[1].(int64)
	value, ok3 := parts[2].([]byte)
	readers, ok4 := parts[3].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || readers < 0 {
		return nil, false
	}
	s := &KeyState{}
	if kind == "none" {
		return s, true
	}
	s.Held = &quorum.Held{Type: kind, Token: readToken(value), TTL: timeLeft(ms), Readers: int(readers), Masters: 1}
	s.Held.Owner = token.Owner(s.Held.Token)
	s.Held.Stuck = Stuck(kind, s.Held.TTL)
	for i := 4; i < len(parts); i += 2 {
		value, ok1 := parts[i].([]byte)
		ms, ok2 := parts[i+1].(int64)
		if !ok1 || !ok2 {
			return nil, false
		}
		reader := readToken(value)
		s.Readers = append(s.Readers, Reading{Token: reader, Owner: token.Owner(reader), TTL: timeLeft(ms)})
	}
	return s, true
}
