package token

import (
	"strings"
	"testing"
)

const (
	client = "dc0lbmpksdubv602g4g0"
	random = "0123456789abcdef0123456789abcdef"
)

func TestTokensOfThisLibraryAreTakenApart(t *testing.T) {
	for _, test := range []struct {
		token, owner, client string
		ok                   bool
	}{
		{client + ":" + random, "", client, true},
		{"web-1:" + client + ":" + random, "web-1", client, true},
		{"a:web-1:" + client + ":" + random, "", "", false},
		{"a:b:c", "", "", false},
		{client + ":" + random[1:], "", "", false},
		{random, "", "", false},
		{"", "", "", false},
	} {
		owner, made, ok := Parse(test.token)
		if ok != test.ok || ok && (owner != test.owner || made != test.client) {
			t.Errorf("%q is taken for %q, %q, %t", test.token, owner, made, ok)
		}
		if got := Owner(test.token); got != test.owner {
			t.Errorf("Owner(%q) is %q: want %q", test.token, got, test.owner)
		}
	}
}

// The part that is shown does not suffice to guess the whole token.
func TestAShownTokenLeavesMostOfItOut(t *testing.T) {
	for token, want := range map[string]string{
		client + ":" + random:            client + ":0123…",
		"web-1:" + client + ":" + random: client + ":0123…",
		"2Hh0QHNoZhdXv0PdJ0ioKQ==":       "2Hh0QHNo…",
		"1234567é9012345678901234":       "1234567…",
		"abc":                            "a…",
		"a":                              "…",
		"":                               "…",
	} {
		got := Short(token)
		if got != want {
			t.Errorf("%q is shown as %q: want %q", token, got, want)
		}
		if !strings.Contains(token, strings.TrimSuffix(got, "…")) {
			t.Errorf("%q is not a part of %q", got, token)
		}
	}
}
