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

// New is an owner mark that no other attempt has had: "owner:client:random" or
// "client:random". The client is an xid, so that the attempts of one client can be told
// from others'; the random part is read from the kernel for every attempt (invariant
// S3), not from a buffer: a virtual machine that is started twice from one snapshot
// would have the same buffer twice. prefix is that of Prefix.
func New(random *chance.Source, prefix string) string {
	var mark [Random / 2]byte
	random.Read("token", mark[:])
	b := make([]byte, 0, 128)
	b = append(b, prefix...)
	b = hex.AppendEncode(b, mark[:])
	return string(b)
}

// Prefix is the constant part of the tokens of one client and owner name.
func Prefix(owner, client string) string {
	if owner == "" {
		return client + ":"
	}
	return owner + ":" + client + ":"
}

// Owner reads the owner's name from a token of this library; "" if there is none.
func Owner(token string) string {
	owner, _, ok := Parse(token)
	if !ok || CheckOwner(owner) != nil {
		return ""
	}
	return owner
}

// CheckOwner says what is wrong with an owner's name, or nil.
func CheckOwner(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' })
	if len(name) < 1 || len(name) > maxOwner || bad {
		return fmt.Errorf("%q: want 1 to %d bytes of printable ASCII without spaces and colons", name, maxOwner)
	}
	return nil
}
