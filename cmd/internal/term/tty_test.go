package term

import (
	"io"
	"os"
	"strings"
	"testing"
)

// drawn is what a terminal is sent for pictures, one after the other. It is a
// pipe here, which has no size: 80 by 24 counts.
func drawn(t *testing.T, pictures ...[]string) []string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	term, err := Take(read, write)
	if err != nil {
		t.Fatal(err)
	}
	const end = "\x00"
	for _, p := range pictures {
		if err := term.Draw(p); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(write, end)
	}
	term.Release()
	term.Release()
	if err := term.Draw([]string{"after"}); err != nil {
		t.Error(err)
	}
	_ = write.Close()
	all, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(string(all), enter)
	text, ok2 := strings.CutSuffix(text, end+leave)
	if !ok || !ok2 {
		t.Fatalf("%q", all)
	}
	return strings.Split(text, end)
}

func TestOnlyLinesThatHaveChangedAreWritten(t *testing.T) {
	t.Parallel()
	got := drawn(t, []string{"a", "b"}, []string{"a", "b"}, []string{"a", "c", "d"}, []string{"a"})
	for i, want := range []string{
		"\x1b[2J\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[Kb", "", "\x1b[2;1H\x1b[Kc\x1b[3;1H\x1b[Kd", "\x1b[2;1H\x1b[J",
	} {
		if got[i] != want {
			t.Errorf("picture %d: %q, want %q", i+1, got[i], want)
		}
	}
}

func TestNoMoreLinesAreWrittenThanThereAreRows(t *testing.T) {
	t.Parallel()
	got := drawn(t, strings.Split(strings.Repeat("x\n", 30), "\n"))
	if strings.Contains(got[0], "\x1b[25;1H") || !strings.Contains(got[0], "\x1b[24;1H\x1b[Kx") {
		t.Errorf("%q", got[0])
	}
}
