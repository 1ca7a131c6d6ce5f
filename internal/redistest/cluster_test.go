package redistest

import (
	"strings"
	"testing"
)

func TestAClusterIsManyServersThatKnowNothingOfEachOther(t *testing.T) {
	const n = 5
	c := Start(t, n, Config{})
	urls, ids := map[string]bool{}, map[string]bool{}
	for i, u := range c.URLs() {
		if u != c.Masters[i].URL() {
			t.Errorf("URL %d is %s; the master's is %s", i, u, c.Masters[i].URL())
		}
		urls[u], ids[runID(t, c.Masters[i])] = true, true
	}
	if len(urls) != n || len(ids) != n {
		t.Errorf("%d URLs and %d run ids; want %d", len(urls), len(ids), n)
	}
	do(t, c.Masters[0], "SET", "key", "value")
	if got := get(t, c.Masters[1], "key"); got != "" {
		t.Errorf("what the first master was told, the second knows: %q", got)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range c.Masters {
		if s.PID() != 0 || exists(s.files.root) {
			t.Errorf("%s was left behind", s.Addr())
		}
	}
}

func TestAClusterThatCannotStartLeavesNothing(t *testing.T) {
	needRedis(t)
	dir := temporary(t)
	_, err := LaunchN(background(t), 3, Config{Args: []string{"--no-such-directive", "1"}})
	if err == nil || strings.Count(err.Error(), "the end of its log") != 3 {
		t.Errorf("got %v; want three causes", err)
	}
	mustBeEmpty(t, dir)
}
