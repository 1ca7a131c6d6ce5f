package token

import "testing"

func TestOwnersAreReadFromOurTokensOnly(t *testing.T) {
	for _, test := range []struct{ token, want string }{
		{New(nil, Prefix("web-1", client)), "web-1"},
		{New(nil, Prefix("", client)), ""},
		{"a:b:c", ""},
		{"", ""},
		{"some-base64-of-redsync==", ""},
	} {
		if got := Owner(test.token); got != test.want {
			t.Errorf("Owner(%q) is %q: want %q", test.token, got, test.want)
		}
	}
}
