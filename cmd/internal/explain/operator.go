package explain

import (
	"strings"

	tokens "github.com/redquorum/redquorum/internal/token"
)

// An operator's token is "released-by/user@host:operator-release:random": to all
// clients the token of a lock whose owner is called so. The part that names a
// client names none, for those are called otherwise.
const (
	ownerPrefix = "released-by/"
	client      = "operator-release"
)

// NewToken is the token that an operator leaves at a key.
func NewToken(operator string) string {
	return tokens.New(nil, tokens.Prefix(ownerPrefix+operator, client))
}

// LongestOperator is how many bytes an operator's name may have: those of an owner's
// name in a token, beside the prefix.
const LongestOperator = 64 - len(ownerPrefix)

// By tells the operator whose token it is; "", false: it is none.
func By(token string) (operator string, ok bool) {
	owner, made, ok := tokens.Parse(token)
	operator, prefixed := strings.CutPrefix(owner, ownerPrefix)
	if !ok || !prefixed || made != client {
		return "", false
	}
	return operator, true
}
