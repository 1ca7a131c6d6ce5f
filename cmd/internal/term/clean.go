package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean makes a message fit for a terminal that may repeat what somebody typed or what a master
// said. It hides passwords, and escapes what moves the cursor or the text.
func Clean(message string) string { return Visible(Redacted(message)) }

// Visible escapes what a terminal does not show as it is: control characters, those that change the
// direction of text, bytes that are not UTF-8.
func Visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case moves(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// moves reports whether a character moves the cursor, or the text around it.
func moves(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// JSON returns a document, on one line or indented, that a terminal shows as it is. encoding/json
// alone does not escape C1 and the characters that change the direction of text.
func JSON(document any, indented bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indented {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	var clean bytes.Buffer
	for _, r := range b.String() {
		switch {
		case r < utf8.RuneSelf && r != 0x7f || !moves(r): // ASCII is escaped already, or between the strings
			clean.WriteRune(r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&clean, `\u%04x`, unit)
			}
		}
	}
	return clean.Bytes(), nil
}

// credentials matches those of a URL anywhere in a text.
var credentials = regexp.MustCompile(`://[^\s"]*@`)

// Redacted hides passwords in a message that may repeat what was typed.
func Redacted(message string) string {
	return credentials.ReplaceAllString(message, "://[redacted]@")
}

const LongestError = 120 // characters

func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Printable is Unmoving, shortened to 48 columns.
func Printable(s string) string { return Shortened(Unmoving(s), 48) }

// Unmoving returns what somebody else has stored, quoted if it could move the cursor.
func Unmoving(s string) string {
	if quoted := fmt.Sprintf("%q", s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}
