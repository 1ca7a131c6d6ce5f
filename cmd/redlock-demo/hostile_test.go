package main

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"unicode"
)

// replies is a server that answers every command with an error.
func replies(t *testing.T, text string) (url string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if strings.HasPrefix(line, "*") {
						_, _ = conn.Write([]byte("-" + text + "\r\n"))
					}
				}
			}()
		}
	}()
	return "redis://" + l.Addr().String()
}

func TestWhatAMasterSaysDoesNotReachTheTerminalAsItIs(t *testing.T) {
	t.Parallel()
	url := replies(t, "ERR \x1b]0;title\a\u009b31m\u202e red")
	for _, line := range []string{
		"exec --try k -- true", "exec --json --try k -- true", "status k", "status --json k", "doctor --for 100ms", "doctor --json --for 100ms",
		"locks", "locks --json", "init", "release --yes k",
	} {
		stdout, stderr, _ := output(t, []string{"REDLOCK_MASTERS=" + url}, strings.Fields(line)...)
		if strings.HasPrefix(line, "exec") && !strings.Contains(stderr, "red") {
			t.Errorf("%s does not say what the master says: %q", line, stderr)
		}
		for _, r := range stdout + stderr {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("%s: %q in %q", line, r, stdout+stderr)
				break
			}
		}
	}
}
