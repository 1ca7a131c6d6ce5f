//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// freeAddress is one that nobody listened at a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func scrape(t *testing.T, addr string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: 20 * time.Second}).Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestExecServesMetricsWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	addr := freeAddress(t)
	r := start(t, c, "--metrics", addr, "--ttl", "300ms", "k", "--", "sh", "-c", `echo ready; read line; exit 3`)
	r.stdout.await(t, "ready")
	eventually(t, "a renewal shows", func() bool {
		return !strings.Contains(scrape(t, addr), "redlock_renewals_total{result=\"ok\"} 0\n")
	})
	all := scrape(t, addr)
	for _, want := range []string{
		"redlock_held 1", `redlock_attempts_total{result="acquired"} 1`, "redlock_quorum_masters 2",
		fmt.Sprintf("redlock_master_connected{master=%q} 1", c.Masters[0].Addr()),
	} {
		if !strings.Contains(all, want+"\n") {
			t.Errorf("%s is missing in:\n%s", want, all)
		}
	}
	r.say(t, "")
	if code := r.end(t); code != 3 {
		t.Errorf("exit code %d: %s", code, r.stderr.String())
	}
	if all := scrape(t, addr); strings.Contains(all, "redlock_held") {
		t.Errorf("it is served on:\n%s", all)
	}
}

func TestChaosServesMetrics(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	r := startCommand(t, command(t, nil, "chaos", "--duration", "1m", "--hold", "10ms", "--ttl", "5s", "--metrics", addr))
	acquired := regexp.MustCompile(`(?m)^redlock_attempts_total\{result="acquired"\} [1-9]`)
	eventually(t, "an acquisition shows", func() bool { return acquired.MatchString(scrape(t, addr)) })
	if all := scrape(t, addr); strings.Count(all, "\nredlock_master_connected{") != 5 {
		t.Errorf("not the five masters:\n%s", all)
	}
	r.signal(t, os.Interrupt)
	if code := r.end(t); code != 130 || r.stderr.String() != "redlock-demo: ended by SIGINT\n" || !strings.Contains(r.stdout.String(), "\nHELD    ") {
		t.Errorf("exit code %d, %q\n%s", code, r.stderr.String(), r.stdout.String())
	}
}
