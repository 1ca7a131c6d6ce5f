package redlock

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/internal/chance"
	tokens "github.com/redquorum/redquorum/internal/token"
)

const (
	randomBytes  = tokens.Random / 2
	maxOwnerName = 64
	maxToken     = 256 // of tokens that Adopt accepts, and that HeldError repeats
)

// newToken is an owner mark that no other attempt has had: "owner:client:random"
// or "client:random". The client is an xid, so that the attempts of one client
// can be told from others'; the random part is read from the kernel for every
// attempt (invariant S3), not from a buffer: a virtual machine that is started
// twice from one snapshot would have the same buffer twice.
func newToken(random *chance.Source, prefix string) string {
	var mark [randomBytes]byte
	random.Read("token", mark[:])
	b := make([]byte, 0, 128)
	b = append(b, prefix...)
	b = hex.AppendEncode(b, mark[:])
	return string(b)
}

// tokenPrefix is the constant part of the tokens of one client and owner name.
func tokenPrefix(owner, client string) string {
	if owner == "" {
		return client + ":"
	}
	return owner + ":" + client + ":"
}

// ownerOf reads the owner's name from a token of this library; "" if there is
// none.
func ownerOf(token string) string {
	owner, _, ok := tokens.Parse(token)
	if !ok || checkOwner(owner) != nil {
		return ""
	}
	return owner
}

// made reports whether this client made a token: for a hold of its own, or one
// that it has handed over since.
func (c *Client) made(token string) bool {
	_, client, ok := tokens.Parse(token)
	return ok && client == c.id
}

func checkOwner(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' })
	if len(name) < 1 || len(name) > maxOwnerName || bad {
		return fmt.Errorf("%q: want 1 to %d bytes of printable ASCII without spaces and colons", name, maxOwnerName)
	}
	return nil
}
