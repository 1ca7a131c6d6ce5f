package token

import (
	"strings"
	"testing"
)

// FuzzOwner reads an owner's name from any value that may be in Redis.
func FuzzOwner(f *testing.F) {
	f.Fuzz(func(t *testing.T, token string) {
		owner := Owner(token)
		if owner != "" && (!strings.HasPrefix(token, owner+":") || CheckOwner(owner) != nil) {
			t.Errorf("the owner of %q is %q", token, owner)
		}
		if CheckOwner(owner) == nil {
			again := New(nil, Prefix(owner, "client"))
			if got := Owner(again); got != owner {
				t.Errorf("%q is the token of %q, read as %q", again, owner, got)
			}
		}
	})
}
