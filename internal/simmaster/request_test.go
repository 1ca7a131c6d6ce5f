package simmaster

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// readAll is io.ReadAll that returns io.EOF.
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

// FuzzRequests checks that only arrays of bulk strings are let through, and that reading them again
// changes nothing.
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
