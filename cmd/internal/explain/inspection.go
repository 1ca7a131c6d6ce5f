// Package explain puts into words who holds a lock, why a master does not vote, and why there is no quorum.
package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/internal/term"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

// SentenceOf describes the result of an inspection, as of now.
func SentenceOf(in *redlock.Inspection) string { return Sentence(in, time.Now()) }

// Sentence describes the result of an inspection in one sentence for people, as of now. Where it
// could say no more than the library's own sentence, it returns that.
func Sentence(in *redlock.Inspection, now time.Time) string {
	var s string
	others := strangers(in)
	switch {
	case in.Verdict == redlock.VerdictFree, in.Verdict == redlock.VerdictUnknown:
		return term.Visible(in.String())
	case in.Verdict == redlock.VerdictHeld && releasedSentence(in) != "":
		s = releasedSentence(in)
	case in.Verdict == redlock.VerdictHeld && !holderIsStranger(&in.Holders[0]):
		if s = heldOn(in, now); others != "" {
			s += "; " + others
		}
	case others != "":
		s = others
	default:
		return term.Visible(in.String())
	}
	silent := 0
	for _, m := range in.Masters {
		if m.Err != nil {
			silent++
		}
	}
	if silent > 0 {
		s += fmt.Sprintf(", %d did not answer", silent)
	}
	return s
}

// isStranger reports whether the value of the key is no lock at all. A sorted set is a lock of
// readers, unless it has none and never expires.
func isStranger(kind string, readers bool, ttl time.Duration) bool {
	known := []string{"string", "zset", "lease", "intent", "called", "none"}
	return !slices.Contains(known, kind) || kind == "zset" && !readers && ttl < 0
}

// NobodyReleases reports whether so many masters have a key that never expires, or is no lock, that
// the others are no quorum: a waiter would wait for ever.
func NobodyReleases(in *redlock.Inspection) bool {
	stuck := 0
	for i := range in.Holders {
		if h := &in.Holders[i]; h.Stuck {
			stuck += h.Masters
		}
	}
	return len(in.Masters)-stuck < in.Need
}

// KindName returns the usual name of a Redis type.
func KindName(kind string) string {
	if kind == "zset" {
		return "sorted set"
	}
	return term.Printable(kind)
}

func holderIsStranger(h *redlock.Holder) bool { return isStranger(h.Type, h.Token != "", h.TTL) }

// strangers describes a value of the key that is no lock; "": there is none.
func strangers(in *redlock.Inspection) string {
	for i := range in.Holders {
		h := &in.Holders[i]
		if !holderIsStranger(h) {
			continue
		}
		have := "have"
		if h.Masters == 1 {
			have = "has"
		}
		return fmt.Sprintf("%s %s a %s under this name; choose another name",
			term.Count(h.Masters, "master"), have, KindName(h.Type))
	}
	return ""
}

// heldOn returns the sentence about the holder, or the readers, with a quorum.
func heldOn(in *redlock.Inspection, now time.Time) string {
	first := &in.Holders[0]
	ttl, readers := first.TTL, 0
	for _, h := range in.Holders {
		if h.Masters < in.Need {
			break
		}
		readers++
		if uint64(h.TTL) > uint64(ttl) { // a negative TTL never ends: it is the longest
			ttl = h.TTL
		}
	}
	if readers > 1 {
		return fmt.Sprintf("held by %d readers on a quorum of %d; %s",
			readers, len(in.Masters), leftUnlessRenewed(ttl, " of the last"))
	}
	s := fmt.Sprintf("held by %s on %d of %d", holderName(first), first.Masters, len(in.Masters))
	if most, known := heldAtMost(first.Token, now); known {
		s += fmt.Sprintf(" for %s at most", term.About(most))
	}
	return s + "; " + leftUnlessRenewed(ttl, "")
}

// leftUnlessRenewed says how long the masters keep a lock that its holder does not renew.
// Most holders renew it.
func leftUnlessRenewed(ttl time.Duration, of string) string {
	if ttl < 0 {
		return neverExpires
	}
	return term.Seconds(ttl) + " left" + of + " unless renewed"
}

// heldAtMost returns how long at most the holder has had the lock: since its client was made.
// Tokens of this library contain that time, by the client's clock. false: it is not known.
func heldAtMost(token string, now time.Time) (time.Duration, bool) {
	_, client, ok := tokens.Parse(token)
	id, err := xid.FromString(client)
	if !ok || err != nil {
		return 0, false
	}
	age := now.Sub(id.Time())
	return age, age >= time.Second // xid counts in seconds
}

// holderName returns the name of a holder for people.
func holderName(h *redlock.Holder) string {
	kind := ""
	if h.Type == "zset" {
		kind = "reader "
	}
	switch {
	case h.Owner != "":
		return fmt.Sprintf("%s%q", kind, h.Owner)
	case h.Token != "":
		return fmt.Sprintf("%stoken %q", kind, tokens.Short(h.Token))
	case h.Type == "zset":
		return "a sorted set without readers"
	case h.Type == "string":
		return `token ""`
	default:
		return "a " + term.Printable(h.Type)
	}
}

// VerdictNames are the verdicts as --json prints them.
var VerdictNames = map[redlock.Verdict]string{
	redlock.VerdictFree:    "free",
	redlock.VerdictHeld:    "held",
	redlock.VerdictSplit:   "split",
	redlock.VerdictPartial: "partial",
	redlock.VerdictUnknown: "unknown",
}

func RowTTL(ttl time.Duration) string {
	switch {
	case ttl < 0:
		return "for ever"
	case ttl == 0:
		return "–"
	default:
		return term.Seconds(ttl)
	}
}
