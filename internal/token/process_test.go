package token

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestProcessOwnerIsAValidOwnerName(t *testing.T) {
	if got := ProcessOwner(); !strings.HasSuffix(got, "/"+strconv.Itoa(os.Getpid())) || !strings.Contains(got, "@") || CheckOwner(got) != nil {
		t.Errorf("%q", got)
	}
	if got := Operator(20); !strings.Contains(got, "@") || len(got) > 20 || !strings.HasPrefix(ProcessOwner(), got) {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("long", 30)
	for _, test := range []struct {
		username, host string
		pid            int
		want           string
	}{
		{"deploy", "web1.example.com", 4711, "deploy@web1.example.com/4711"},
		{`CORP\a user`, "höst:1", 1, `CORP\a-user@h-st-1/1`},
		{"", "", 2, "@/2"},
		{long, long, 4194304, long[:20] + "@" + long[:35] + "/4194304"},
	} {
		got := personOn(test.username, test.host, fmt.Sprintf("/%d", test.pid), maxOwner)
		if got != test.want || CheckOwner(got) != nil {
			t.Errorf("%q, %q, %d: %q, want %q", test.username, test.host, test.pid, got, test.want)
		}
	}
}
