package simmaster

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestRequestsAreLetThroughWholeOrNotAtAll(t *testing.T) {
	big := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		name, in, out string
		err           error
	}{
		{"a request", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", io.EOF},
		{"a large argument", fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", len(big), big), fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", len(big), big), io.EOF},
		{"an empty argument", "*1\r\n$0\r\n\r\n", "*1\r\n$0\r\n\r\n", io.EOF},
		{"empty requests are skipped", "*0\r\n*-1\r\n\r\n*1\r\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\r\n", io.EOF},
		{"an inline request", "SET  a b\r\nPING\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*1\r\n$4\r\nPING\r\n", io.EOF},
		{"cut off in an argument", "*1\r\n$4\r\nPI", "", io.ErrUnexpectedEOF},
		{"cut off in a line", "*1\r\n$4", "", io.EOF},
		{"an argument too long", "*1\r\n$16777217\r\n", "", errProtocol},
		{"a length beyond int64", "*1\r\n$99999999999999999999\r\n", "", errProtocol},
		{"a nil argument", "*1\r\n$-1\r\n", "", errProtocol},
		{"too many arguments", "*1048577\r\n", "", errProtocol},
		{"an integer for an argument", "*1\r\n:1\r\n", "", errProtocol},
		{"no CRLF after an argument", "*1\r\n$4\r\nPINGPING\r\n", "", errProtocol},
		{"an endless line", strings.Repeat("a", maxInline+1), "", errProtocol},
		{"good and bad", "PING\r\n*x\r\n", "*1\r\n$4\r\nPING\r\n", errProtocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readAll(newRequestReader(strings.NewReader(c.in)))
			if got != c.out || !errors.Is(err, c.err) {
				t.Fatalf("got %.80q, %v; want %.80q, %v", got, err, c.out, c.err)
			}
		})
	}
}

// readAll is io.ReadAll that shows io.EOF.
func readAll(r io.Reader) (string, error) {
	var b strings.Builder
	buf := make([]byte, 7)
	for {
		n, err := r.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String(), err
		}
	}
}

// What is let through is a sequence of arrays of bulk strings, and reading it
// again changes nothing.
func FuzzRequests(f *testing.F) {
	for _, s := range []string{"*1\r\n$4\r\nPING\r\n", "SET a b\r\n", "*0\r\n", "*1\r\n$-1\r\n", "$3\r\n", "*2\r\n$1\r\na\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once, _ := readAll(newRequestReader(strings.NewReader(in)))
		twice, err := readAll(newRequestReader(strings.NewReader(once)))
		if once != twice || !errors.Is(err, io.EOF) {
			t.Fatalf("%q was let through as %q, and that as %q, %v", in, once, twice, err)
		}
		if once != "" && (once[0] != '*' || strings.HasPrefix(once, "*0")) {
			t.Fatalf("%q was let through as %q", in, once)
		}
	})
}
