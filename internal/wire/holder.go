package wire

import (
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
)

func readHolderAnswer(_ *Ask, f *fact, reply any) ballot.Answer {
	if h, ok := readHolder(reply); ok {
		f.held = h
		return agreed
	}
	return ballot.Answer{}
}

// readHolder reads what the scripts holder and holderamong return.
func readHolder(reply any) (*quorum.Held, bool) {
	parts, ok := reply.([]any)
	if ok && len(parts) == 4 {
		return readHolderAmong(parts)
	}
	if !ok || len(parts) != 3 {
		return nil, false
	}
	kind, ok1 := readType(parts[0])
	value, ok2 := parts[1].([]byte)
	ms, ok3 := parts[2].(int64)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	h := &quorum.Held{Type: kind, Masters: 1}
	if h.Type == "string" || h.Type == LeaseType {
		h.Token = readToken(value)
		h.Owner = token.Owner(h.Token)
	} else {
		h.Readers, _ = strconv.Atoi(string(value)) // "": they are not readers
	}
	h.TTL = timeLeft(ms)
	h.Stuck = Stuck(h.Type, h.TTL)
	return h, true
}

// Stuck reports whether nobody will release a key of this type and TTL, because it is no
// lock, or never expires.
func Stuck(kind string, ttl time.Duration) bool {
	switch kind {
	case "", "none", LeaseType, IntentType, CalledType:
		return false
	case "string", "zset":
		return ttl < 0
	default:
		return true
	}
}

// readHolderAmong reads what the script holderamong returns: the reply of the script
// holder, and the key that it is about.
func readHolderAmong(parts []any) (*quorum.Held, bool) {
	h, ok := readHolder(parts[:3])
	key, isKey := parts[3].([]byte)
	if !ok || !isKey || len(key) > MaxKey {
		return nil, false
	}
	if h.Type != "none" {
		h.Key = string(key)
	}
	return h, true
}

// maxType is far longer than the name of any type of Redis or of a module.
const maxType = 32

// readType reads the name of a type. It must be one word, because users see it unchanged.
func readType(reply any) (string, bool) {
	name, ok := reply.([]byte)
	if !ok || len(name) == 0 || len(name) > maxType {
		return "", false
	}
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return "", false
		}
	}
	return string(name), true
}

// readToken returns the part of a token that is shown. The scripts cut tokens off as well.
func readToken(value []byte) string { return string(value[:min(len(value), token.Max)]) }

// timeLeft turns a PTTL into a duration of at most a year: -1 if there is no expiry, 0 if the
// PTTL is not known. A PTTL of 0 counts as 1 ms: a key in its last millisecond has it.
func timeLeft(ms int64) time.Duration {
	const year = 365 * 24 * time.Hour
	switch {
	case ms == -1:
		return -1
	case ms < 0:
		return 0
	default:
		return time.Duration(min(max(ms, 1), int64(year/time.Millisecond))) * time.Millisecond
	}
}
