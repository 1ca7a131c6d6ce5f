package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/acl"
)

// unasked are the commands without a probe. Only some masters need SELECT, and then connecting has
// failed already; INFO is sent anyway. SUBSCRIBE is probed without a channel.
var unasked = []string{"info", "select"}

func TestEveryPermissionIsAskedForAndNoOther(t *testing.T) {
	t.Parallel()
	const lock = "some:lock"
	var got []string
	for _, p := range probes(lock) {
		got = append(got, p.rule)
		switch key := pattern(p, lock); {
		case key == lock:
		case !strings.HasPrefix(key, "redquorum:"):
			t.Errorf("%s %v: the key is %s", p.cmd, p.args, key)
		default:
			got = append(got, "~"+key)
		}
	}
	got = append(got, "&redquorum:w:1:*") // by PUBLISH
	want := slices.DeleteFunc(acl.Rules(lock), func(rule string) bool {
		return slices.Contains([]string{"~" + lock, "resetchannels", "-@all"}, rule) || slices.Contains(unasked, strings.TrimPrefix(rule, "+"))
	})
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	for command := range asked {
		if !slices.Contains(want, "+"+command) {
			t.Errorf("%s is asked for nothing", command)
		}
	}
}
