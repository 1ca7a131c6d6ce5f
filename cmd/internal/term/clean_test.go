package term

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// hostile is a text that a master or a stranger may send.
const hostile = "a\x1b]0;title\a\u009b31m\u202eb\u2028c\xe9 redis://:secret@h \x7f"

func TestNothingThatSomebodyElseSaysMovesATerminal(t *testing.T) {
	t.Parallel()
	const want = `a\x1b]0;title\a\u009b31m\u202eb\u2028c\xe9 redis://[redacted]@h \x7f`
	if got := Clean(hostile); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestADocumentShowsNoControlCharactersAndSaysTheSame(t *testing.T) {
	t.Parallel()
	said := map[string]string{"key": strings.ToValidUTF8(hostile, "") + "日本🔒\U000e0041"}
	text, err := JSON(said, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.ReplaceAll(string(text), "\n", "") {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%q in %q", r, text)
		}
	}
	var read map[string]string
	if err := json.Unmarshal(text, &read); err != nil || read["key"] != said["key"] {
		t.Errorf("%q, %v", read, err)
	}
	if !strings.Contains(string(text), "日本🔒") {
		t.Errorf("%s", text)
	}
}
