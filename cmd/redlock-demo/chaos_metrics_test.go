//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestChaosServesMetrics(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	cmd := command(t, nil, "chaos", "--duration", "1m", "--hold", "10ms", "--ttl", "5s", "--metrics", addr)
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acquired := regexp.MustCompile(`(?m)^redlock_attempts_total\{result="acquired"\} [1-9]`)
	eventually(t, "an acquisition shows", func() bool { return acquired.MatchString(scrape(t, addr)) })
	if all := scrape(t, addr); strings.Count(all, "\nredlock_master_connected{") != 5 {
		t.Errorf("not the five masters:\n%s", all)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(t, cmd.Wait()); code != 130 || stderr.String() != "redlock-demo: ended by SIGINT\n" || !strings.Contains(stdout.String(), "\nHELD    ") {
		t.Errorf("exit code %d, %q\n%s", code, stderr.String(), stdout.String())
	}
}
