package explain

import (
	"strings"
	"testing"

	tokens "github.com/redquorum/redquorum/internal/token"
)

func TestOperatorTokensDifferFromHolderTokens(t *testing.T) {
	longest := strings.Repeat("x", LongestOperator)
	for _, operator := range []string{"alice@db1.example.com", longest} {
		token := NewToken(operator)
		owner, _, ok := tokens.Parse(token)
		if by, is := By(token); !is || by != operator || !ok || len(owner) > 64 {
			t.Errorf("%q: %q, %t; owner %q, %t", token, by, is, owner, ok)
		}
		if token == NewToken(operator) {
			t.Errorf("%q is made twice", token)
		}
	}
	const random = ":0123456789abcdef0123456789abcdef"
	for _, token := range []string{
		"", "operator-release", "released-by/alice@db1",
		"released-by/alice@db1:dc0ofu9ksdue9s8caem0" + random, // a holder with such a name
		"alice@db1:operator-release" + random,
		"released-by/alice@db1:operator-release:short",
	} {
		if by, is := By(token); is || by != "" {
			t.Errorf("%q is taken for the token of operator %q", token, by)
		}
	}
}
