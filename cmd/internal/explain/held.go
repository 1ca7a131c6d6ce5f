package explain

import (
	"errors"
	"fmt"

	"github.com/redquorum/redquorum/cmd/internal/term"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

const HeldByUnknown = "held by somebody else"

// neverExpires describes a key without an expiry. Locks of this library always have one.
const neverExpires = "it never expires: not a lock of ours?"

// HeldBy names the holder that most masters name.
func HeldBy(err error) string {
	var failed *redlock.QuorumError
	if !errors.As(err, &failed) || failed.Nodes == nil {
		return HeldByUnknown
	}
	type value struct{ kind, token string }
	votes := make(map[value]int)
	var most *redlock.Holder
	for _, cause := range failed.Nodes.Errors {
		h, ok := errors.AsType[*redlock.Holder](cause)
		if !ok || h.Type == "" { // it was not asked for the holder
			continue
		}
		votes[value{h.Type, h.Token}]++
		if most == nil || votes[value{h.Type, h.Token}] > votes[value{most.Type, most.Token}] {
			most = h
		}
	}
	if most != nil {
		if operator, ok := By(most.Token); ok {
			return ByOperator(operator)
		}
	}
	switch {
	case most == nil || most.Type == "none":
		return HeldByUnknown
	case isStranger(most.Type, most.Readers > 0, most.TTL):
		return fmt.Sprintf("the masters have a %s under this name; choose another name", KindName(most.Type))
	case most.Type != "string":
		return most.Error()
	case most.TTL < 0:
		return neverExpires
	case most.Owner != "":
		return fmt.Sprintf("held by %q", most.Owner)
	default:
		return "held by somebody who gave no name"
	}
}

// A Hold is the holder of a key, as --json prints it.
type Hold struct {
	Owner   string `json:"owner,omitempty"`
	Token   string `json:"token"` // its beginning
	Masters int    `json:"masters"`
	TTLMS   int64  `json:"ttl_ms"`
}

// HoldOf returns a holder as --json prints it.
func HoldOf(h *redlock.Holder) Hold {
	return Hold{h.Owner, tokens.Short(h.Token), h.Masters, h.TTL.Milliseconds()}
}

// ByOperator describes a lock that an operator has taken from its holder.
func ByOperator(operator string) string {
	return fmt.Sprintf("released by an operator (%s)", term.Printable(operator))
}

// releasedSentence describes a lock that an operator has taken from its holder; "": none has.
func releasedSentence(in *redlock.Inspection) string {
	first := &in.Holders[0]
	operator, ok := By(first.Token)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s on %d of %d, free in %s",
		ByOperator(operator), first.Masters, len(in.Masters), term.Seconds(first.TTL))
}
