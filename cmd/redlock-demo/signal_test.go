//go:build unix

package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

func TestSignalsEndItCleanly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal syscall.Signal
		code   int
		says   string
	}{
		{syscall.SIGINT, 130, "redlock-demo: ended by SIGINT\n"},
		{syscall.SIGTERM, 143, "redlock-demo: ended by SIGTERM\n"},
	} {
		c := cluster(t, 3)
		cmd := command(t, nil, "--masters", list(c), "--stock", "500") // sells for a while
		var stdout, stderr watched
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		attempts := func() int { // one that queues up begins with a script at the key's pilot
			done := c.Masters()[0].Commands()
			return done["SET"] + done["EVALSHA"]
		}
		for end := time.Now().Add(time.Minute); attempts() <= 100; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it did not sell within a minute")
			}
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		if code := codeOf(t, cmd.Wait()); code != test.code || stderr.String() != test.says {
			t.Errorf("%v: exit code %d, %q\n%s", test.signal, code, stderr.String(), stdout.String())
		}
		for _, m := range c.Masters() {
			for end := time.Now().Add(5 * time.Second); len(m.Keys())-1+m.Connections() > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%v: %s holds %q and %d connections", test.signal, m.Addr(), m.Keys(), m.Connections())
				}
			}
		}
	}
}

func TestAnInterruptedRunStillGivesADocument(t *testing.T) {
	t.Parallel()
	c := cluster(t, 3)
	cmd := command(t, nil, "--json", "--masters", list(c), "--stock", "500")
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); c.Masters()[0].Connections() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not connected within a minute")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code := codeOf(t, cmd.Wait())
	doc := parse(t, stdout.String())
	if code != 130 || doc.Verdict != string(demo.VerdictInterrupted) || doc.Error != "ended by SIGINT" {
		t.Errorf("exit code %d, %+v", code, doc)
	}
}
