package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

func TestTheNameOfAProcessIsAnOwners(t *testing.T) {
	if got := thisProcess(); !strings.HasSuffix(got, "/"+strconv.Itoa(os.Getpid())) || !strings.Contains(got, "@") {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("long", 30)
	for _, test := range []struct {
		who, host string
		pid       int
		want      string
	}{
		{"deploy", "web1.example.com", 4711, "deploy@web1.example.com/4711"},
		{`CORP\a user`, "höst:1", 1, `CORP\a-user@h-st-1/1`},
		{"", "", 2, "@/2"},
		{long, long, 4194304, long[:20] + "@" + long[:35] + "/4194304"},
	} {
		got := ownerName(test.who, test.host, test.pid)
		if got != test.want || len(got) > longestOwner {
			t.Errorf("%q, %q, %d: %q, want %q", test.who, test.host, test.pid, got, test.want)
		}
		c, err := redlock.Open([]string{"redis://127.0.0.1:1"}, redlock.WithOwner(got))
		if err != nil {
			t.Errorf("no owner's name: %v", err)
			continue
		}
		_ = c.Close()
	}
}
