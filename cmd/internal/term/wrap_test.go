package term

import "testing"

func TestAHelpsTextFitsIntoItsColumns(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"prose is filled anew", "one two three\nfour five\nsix\n\nseven", "one two three four\nfive six\n\nseven"},
		{"a word that is too long stays whole", "a redis://127.0.0.1:7101,redis://b", "a\nredis://127.0.0.1:7101,redis://b"},
		{"letters are counted, not bytes", "äöü äöü äöü äöü äöü", "äöü äöü äöü äöü äöü"},
		{"indented lines are kept", "Usage:\n  a command\n  another", "Usage:\n  a command\n  another"},
		{"a comment comes first", "  lock --for 1m   # as long as that", "  # as long as that\n  lock --for 1m"},
		{"a command is broken before its flags", "  lock --one a --to b,c", "  lock --one a \\\n      --to b,c"},
		{"and before a pipe, but not within quotes", "  lock --json | jq -r '.a | .b'", "  lock --json \\\n      | jq -r '.a | .b'"},
		{"a tab is eight columns", "\tlock exec > $file", "\tlock exec \\\n\t    > $file"},
	} {
		if got := Fit(20, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}
