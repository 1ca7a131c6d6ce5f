package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/chaos"
	"github.com/redquorum/redquorum/internal/redistest"
)

func TestChaosWatchesMastersThatTheOperatorBreaks(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 5, redistest.Config{AppendOnly: redistest.AppendAlways})
	cmd := command(t, []string{"TERM=xterm", "NO_COLOR=1"}, "chaos", "--masters", urls, "--hold", "50ms")
	term := onTerminal(t, cmd)
	term.awaitHolds(t)
	term.await(t, "5 masters that others run")
	term.press(t, "2k3f\tx") // nothing of that may reach them
	kill(t, c.Masters[0])
	term.await(t, "master 1 "+c.Masters[0].Addr()+": down: connection refused")
	if err := c.Masters[1].Freeze(); err != nil {
		t.Fatal(err)
	}
	term.await(t, "master 2 "+c.Masters[1].Addr()+": does not answer")
	if err := c.Masters[1].Thaw(); err != nil {
		t.Fatal(err)
	}
	restart(t, true, c.Masters[0])
	term.await(t, "master 1 "+c.Masters[0].Addr()+": was restarted; it votes again at ")
	term.press(t, "q")
	code, text := term.end(t)
	if last := text[strings.LastIndex(text, backAgain):]; code != 0 || !strings.Contains(last, "HELD    ") {
		t.Errorf("exit code %d\n%q", code, last)
	}
	if strings.Contains(text, "▸") || strings.Contains(text, "killed") || !strings.Contains(text, "q quit") || strings.Contains(text, "r restart") {
		t.Errorf("keys are offered or heeded: %q", text)
	}
	for i, m := range c.Masters {
		left, err := m.Do("KEYS", "*chaos*")
		if err != nil || len(left.([]any)) > 0 {
			t.Errorf("left on master %d: %q, %v", i+1, left, err)
		}
	}
}

func TestChaosOnMastersThatOthersRunEndsWithASignalAndTheVerdict(t *testing.T) {
	t.Parallel()
	_, urls := processes(t, 3, redistest.Config{Password: "secret"})
	cmd := command(t, nil, "chaos", "--masters", urls, "--hold", "20ms", "--json")
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "somebody fights for a lock", func() bool {
		out, _, _ := output(t, nil, "locks", "--masters", urls)
		return strings.Contains(out, "chaos:")
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code := codeOf(t, cmd.Wait())
	var r chaos.Result
	if err := json.Unmarshal([]byte(stdout.String()), &r); err != nil {
		t.Fatalf("%v in %q", err, stdout.String())
	}
	if code != 130 || stderr.String() != "redlock-demo: ended by SIGINT\n" || r.Verdict != chaos.VerdictHeld || r.Masters != "given" || r.Version != "" || r.Check.Holds == 0 {
		t.Errorf("exit code %d, %q, %+v", code, stderr.String(), r)
	}
}
