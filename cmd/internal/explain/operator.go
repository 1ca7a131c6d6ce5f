package explain

import (
	"strings"

	tokens "github.com/redquorum/redquorum/internal/token"
)

// An operator's token is "released-by/user@host:operator-release:random". To all clients it is
// the token of a lock with that owner. No client has the id in it: client ids have another form.
const (
	ownerPrefix = "released-by/"
	client      = "operator-release"
)

// NewToken returns the token that an operator leaves at a key.
func NewToken(operator string) string {
	return tokens.New(nil, tokens.Prefix(ownerPrefix+operator, client))
}

// LongestOperator is how many bytes an operator's name may have: the 64 of an owner's name in
// a token, less the prefix.
const LongestOperator = 64 - len(ownerPrefix)

// By returns the operator whose token it is; "", false: it is not an operator's.
func By(token string) (operator string, ok bool) {
	owner, made, ok := tokens.Parse(token)
	operator, prefixed := strings.CutPrefix(owner, ownerPrefix)
	if !ok || !prefixed || made != client {
		return "", false
	}
	return operator, true
}
