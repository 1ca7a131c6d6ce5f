package acl

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/script"
)

// A user with these rules may run every script.
func TestTheRulesPermitWhatEveryScriptCalls(t *testing.T) {
	rules := Rules("*")
	for _, s := range slices.Concat(script.All, guard.Scripts) {
		called := script.Commands(s)
		if len(called) == 0 {
			t.Errorf("%s calls nothing", s.Name)
		}
		for _, c := range called {
			if !slices.Contains(rules, "+"+c) {
				t.Errorf("%s calls %s, which is not permitted", s.Name, c)
			}
		}
	}
}

// Scripts that no use lists call only what the two uses beside them permit.
func TestTwoUsesTogetherPermitTheScriptsThatNeedBoth(t *testing.T) {
	permitted := map[string][]string{}
	for _, u := range Uses() {
		permitted[u.Name] = u.Commands
	}
	for _, test := range []struct {
		first, second string
		scripts       []*script.Script
	}{
		{Fencing, Locks, []*script.Script{script.GuardedExtend, script.GuardedAdopt}},
		{Fencing, Several, []*script.Script{script.GuardedExtendAll, script.GuardedReleaseAll}},
		{Fencing, Queue, []*script.Script{script.GuardedQueue, script.GuardedReleaseSet, script.ReleaseLeases}},
		{Fencing, Readers, []*script.Script{script.GuardedReaderAcquire, script.GuardedReaderExtend, script.GuardedReaderRelease}},
		{Readers, Queue, []*script.Script{script.ReadersQueue, script.ReaderHandOver, script.GuardedReaderHandOver}},
	} {
		for _, s := range test.scripts {
			for _, c := range script.Commands(s) {
				if !slices.Contains(permitted[test.first], c) && !slices.Contains(permitted[test.second], c) {
					t.Errorf("%s calls %s, which neither %s nor %s permits", s.Name, c, test.first, test.second)
				}
			}
		}
	}
}

func TestTheDocumentationShowsTheseRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, u := range Uses() {
		fmt.Fprintf(&want, "- %s: `+%s`", u.Name, strings.Join(u.Commands, " +"))
		for _, k := range u.Keys {
			want.WriteString(", `~" + k + "`")
		}
		for _, c := range u.Channels {
			want.WriteString(", `&" + c + "`")
		}
		want.WriteString("\n")
	}
	for _, part := range []string{want.String(), "\n```text\nACL SETUSER locker " + strings.Join(Rules("locks:*"), " ") + "\n```\n"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("docs/reference/wire.md does not have\n%s", part)
		}
	}
}
