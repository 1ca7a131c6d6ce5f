// Package token makes and reads the tokens of this library. It says which owner and client made a
// token, and how much of it logs and errors show. A token is a capability: anybody who knows all of
// it can release the lock, or adopt it.
package token

import (
	"strings"
	"unicode/utf8"
)

// Random is how many characters of a token are random: hexadecimal digits.
const Random = 32

const (
	shownRandom  = 4 // of the random part: to tell one client's holds apart
	shownForeign = 8 // of another library's token, at most a third of it
)

// Parse splits a token that this library has made: "owner:client:random", or
// "client:random".
func Parse(token string) (owner, client string, ok bool) {
	rest, random, ok := cutLast(token)
	if !ok || len(random) != Random {
		return "", "", false
	}
	if owner, client, named := cutLast(rest); named {
		return owner, client, !strings.Contains(owner, ":")
	}
	return "", rest, true
}

// cutLast cuts at the last colon.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// Short returns the part of a token that errors and logs show. For tokens of this library
// that is the client and the beginning of the random part; for others the beginning. The
// rest is too long to be guessed.
func Short(token string) string {
	if _, client, ok := Parse(token); ok {
		random := token[len(token)-Random:]
		return client + ":" + random[:shownRandom] + "…"
	}
	shown := min(shownForeign, len(token)/3)
	for shown > 0 && !utf8.RuneStart(token[shown]) {
		shown--
	}
	return token[:shown] + "…"
}
