package term

import "testing"

func TestTextIsWrappedBetweenWords(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"prose is filled anew", "one two three\nfour five\nsix", "one two three four\nfive six"},
		{"a word that is too long stays whole", "a redis://127.0.0.1:7101,redis://b", "a\nredis://127.0.0.1:7101,redis://b"},
		{"letters are counted, not bytes", "äöü äöü äöü äöü äöü", "äöü äöü äöü äöü äöü"},
	} {
		if got := Wrap("", 0, 20, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}
