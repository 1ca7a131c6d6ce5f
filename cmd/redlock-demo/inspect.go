package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
)

// An inspector asks all masters who holds a key.
type inspector interface {
	inspect(ctx context.Context, key string) (*inspection, error)
}

// An inspection is what the masters say of one key.
type inspection struct {
	Key     string
	Masters []masterHold
}

// A masterHold is what one master says.
type masterHold struct {
	Master    string
	Held      *redlock.HeldError // nil: free, or unknown because of Err
	Err       error
	RoundTrip time.Duration // 0: not measured
}

// free reports whether the master has said that it has no such key.
func (m *masterHold) free() bool { return m.Err == nil && (m.Held == nil || m.Held.Type == "none") }

// A clientInspector is the library.
type clientInspector struct{ client *redlock.Client }

func (i clientInspector) inspect(ctx context.Context, key string) (*inspection, error) {
	answer, err := i.client.Inspect(ctx, key)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, usagef("status: this version cannot ask the masters who holds a lock yet")
	}
	if err != nil {
		return nil, inFlags(err)
	}
	in := &inspection{Key: answer.Key}
	for _, m := range answer.Masters {
		in.Masters = append(in.Masters, masterHold{Master: m.Master, Held: m.Held, Err: m.Err})
	}
	return in, nil
}

// A verdict is what all answers amount to.
type verdict string

const (
	verdictFree    verdict = "free"    // on a quorum
	verdictHeld    verdict = "held"    // by one holder on a quorum
	verdictSplit   verdict = "split"   // nobody has a quorum, and it is not free on one
	verdictUnknown verdict = "unknown" // those that did not answer would decide
)

// A holder is a value of the key, and where it stands.
type holder struct {
	held *redlock.HeldError
	ttls []time.Duration // negative: for ever
}

// name is what people call the holder.
func (h *holder) name() string {
	switch {
	case h.held.Type != "string":
		return "a " + printable(h.held.Type)
	case h.held.Owner != "":
		return fmt.Sprintf("%q", h.held.Owner)
	default:
		return "token " + printable(h.held.Token)
	}
}

// left is for how long so many masters will have the key; negative: for ever.
func (h *holder) left(need int) time.Duration {
	slices.SortFunc(h.ttls, func(a, b time.Duration) int { // the longest first
		switch {
		case (a < 0) == (b < 0):
			return cmp.Compare(b, a)
		case a < 0:
			return -1
		default:
			return 1
		}
	})
	return h.ttls[need-1]
}

// holders is all values of the key, the one on most masters first.
func (in *inspection) holders() []*holder {
	var list []*holder
	for _, m := range in.Masters {
		if m.Err != nil || m.free() {
			continue
		}
		i := slices.IndexFunc(list, func(h *holder) bool {
			return h.held.Token == m.Held.Token && h.held.Type == m.Held.Type
		})
		if i < 0 {
			i = len(list)
			list = append(list, &holder{held: m.Held})
		}
		list[i].ttls = append(list[i].ttls, m.Held.TTL)
	}
	slices.SortStableFunc(list, func(a, b *holder) int { return len(b.ttls) - len(a.ttls) })
	return list
}

// judge gives the verdict, and a sentence that explains it.
func (in *inspection) judge() (verdict, string) {
	total := len(in.Masters)
	need := quorum.Need(total)
	free, answered := 0, 0
	for _, m := range in.Masters {
		if m.Err == nil {
			answered++
		}
		if m.free() {
			free++
		}
	}
	holders := in.holders()
	most := 0
	if len(holders) > 0 {
		most = len(holders[0].ttls)
	}
	silent := total - answered
	switch {
	case most >= need:
		return verdictHeld, fmt.Sprintf("held by %s on %d of %d masters, %s", holders[0].name(), most, total, forHowLong(holders[0].left(need)))
	case free >= need && most == 0:
		return verdictFree, fmt.Sprintf("free on %d of %d masters", free, total)
	case free >= need:
		return verdictFree, fmt.Sprintf("free on %d of %d masters; left over: %s", free, total, shares(holders))
	case answered < need:
		return verdictUnknown, fmt.Sprintf("cannot be told: %d of %d masters answered, %d needed", answered, total, need)
	case max(most, free)+silent >= need:
		text := fmt.Sprintf("cannot be told: %d of %d masters answered", answered, total)
		if most > 0 {
			text += ": " + shares(holders)
		}
		return verdictUnknown, text
	default:
		return verdictSplit, fmt.Sprintf("held by nobody: %d of %d masters are needed: %s", need, total, shares(holders))
	}
}

func forHowLong(ttl time.Duration) string {
	switch {
	case ttl < 0:
		return "without an expiry"
	case ttl == 0:
		return "about to expire"
	default:
		return seconds(ttl) + " left at the quorum"
	}
}

// shares lists who stands on how many masters.
func shares(holders []*holder) string {
	texts := make([]string, len(holders))
	for i, h := range holders {
		texts[i] = fmt.Sprintf("%s on %d", h.name(), len(h.ttls))
	}
	return strings.Join(texts, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// printable is what somebody else has stored, without what would move the
// cursor, and shortened.
func printable(s string) string {
	if quoted := fmt.Sprintf("%q", s); quoted != `"`+s+`"` {
		s = quoted
	}
	return shortened(s, 48)
}

func shortened(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
