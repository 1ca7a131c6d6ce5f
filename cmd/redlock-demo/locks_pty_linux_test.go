package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLocksFitATerminalAndAreWholeInAPipe(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	key := strings.Repeat("0123456789", 12)
	do(t, c.Masters, "SET", key, strings.Repeat("x", 60)+tokenOf, "PX", minuteInMS)
	term := onTerminal(t, command(t, []string{"TERM=xterm"}, "locks", "--masters", addresses(c)))
	code, text := term.end(t)
	if code != 0 || !strings.Contains(text, "1 lock is held.") || !strings.Contains(text, "0123456789") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if stdout, _, code := output(t, nil, "locks", "--masters", addresses(c)); code != 0 || !strings.Contains(stdout, key+"  lock  "+strings.Repeat("x", 60)+"  3 of 3") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
}
