package redlock

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redquorum/redquorum/internal/token"
)

// wantOneLine fails unless the text can be shown to people.
func wantOneLine(t *testing.T, what, text string) {
	t.Helper()
	if strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%s is not one line of text: %q", what, text)
	}
	if len(text) > 16<<10 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
}

// FuzzHolderTexts makes texts for people from arbitrary values in Redis.
func FuzzHolderTexts(f *testing.F) {
	f.Add("", "", uint8(0), int64(0))
	f.Add("web:dc0lbmpksdubv602g4g0:0123456789abcdef0123456789abcdef", "key", uint8(1), int64(1e9))
	f.Add("a\nb", "k\x00", uint8(2), int64(-1))
	f.Fuzz(func(t *testing.T, holder, key string, sort uint8, ttl int64) {
		if len(holder) > token.Max || len(key) > 1024 {
			t.Skip()
		}
		kind := []string{"string", "zset", "lease", "intent", "hash", "none", ""}[sort%7]
		h := Holder{Type: kind, Token: holder, Owner: token.Owner(holder), Key: key, Readers: int(sort % 3), TTL: time.Duration(ttl)}
		wantOneLine(t, "the holder", h.Error())
		for _, readers := range [][]Holder{nil, {{Token: holder, Owner: h.Owner, Type: kind, Masters: 1, TTL: h.TTL}}} {
			m := MasterHold{Master: "m", Held: &h, Readers: readers}
			for _, masters := range [][]MasterHold{{m}, {m, m, {Master: "n"}}} {
				in := Inspection{Key: key, Need: len(masters)/2 + 1, Masters: masters}
				in.judge()
				wantOneLine(t, "the inspection", in.String())
			}
		}
	})
}
