package token

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/internal/chance"
)

const (
	// Max is the length in bytes of the tokens that the library accepts from others,
	// and repeats in errors.
	Max      = 256
	maxOwner = 64
)

// New returns a token that no other attempt has had: "owner:client:random" or
// "client:random". prefix is the result of Prefix. The client is an xid, so one client's
// attempts can be distinguished from those of others.
//
// The random part is read from the kernel for every attempt (invariant S3), not from a buffer. If a
// virtual machine is started twice from one snapshot, both have the same buffer.
func New(random *chance.Source, prefix string) string {
	var mark [Random / 2]byte
	random.Read("token", mark[:])
	b := make([]byte, 0, 128)
	b = append(b, prefix...)
	b = hex.AppendEncode(b, mark[:])
	return string(b)
}

// Prefix returns the constant part of the tokens of one client and owner name.
func Prefix(owner, client string) string {
	if owner == "" {
		return client + ":"
	}
	return owner + ":" + client + ":"
}

// Owner returns the owner's name in a token of this library; "" if there is none.
func Owner(token string) string {
	owner, _, ok := Parse(token)
	if !ok || CheckOwner(owner) != nil {
		return ""
	}
	return owner
}

// CheckOwner returns an error that says what is wrong with an owner's name; nil: nothing.
func CheckOwner(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' })
	if len(name) < 1 || len(name) > maxOwner || bad {
		return fmt.Errorf("%q: want 1 to %d bytes of printable ASCII without spaces and colons", name, maxOwner)
	}
	return nil
}
