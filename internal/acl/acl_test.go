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

// A script that no use names would be refused to a user with these rules.
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

// What Fencing says of the guarded scripts that it does not name.
func TestGuardedScriptsCallWhatThePlainOnesDo(t *testing.T) {
	uses := map[string][]string{}
	for _, u := range Uses() {
		uses[u.Name] = u.Commands
	}
	for s, plain := range map[*script.Script]string{
		script.GuardedExtend: Locks, script.GuardedExtendAll: Several, script.GuardedReleaseAll: Several, script.GuardedReleaseSet: Queue,
		script.GuardedQueue:  Queue,
		script.GuardedAdopt:  Locks,
		script.ReleaseLeases: Queue, script.GuardedReaderAcquire: Readers, script.GuardedReaderExtend: Readers, script.GuardedReaderRelease: Readers,
	} {
		for _, c := range script.Commands(s) {
			if !slices.Contains(uses[Fencing], c) && !slices.Contains(uses[plain], c) {
				t.Errorf("%s calls %s, which neither %s nor %s permits", s.Name, c, Fencing, plain)
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

// Readers that wait, and those that wake them, need both: no list of one use has what is the other's.
func TestReadersThatWaitNeedWhatReadersAndQueuesDo(t *testing.T) {
	var permitted []string
	for _, u := range Uses() {
		if u.Name == Readers || u.Name == Queue {
			permitted = append(permitted, u.Commands...)
		}
	}
	for _, s := range []*script.Script{script.ReadersQueue, script.ReaderHandOver, script.GuardedReaderHandOver} {
		for _, c := range script.Commands(s) {
			if !slices.Contains(permitted, c) {
				t.Errorf("%s calls %s, which neither %s nor %s permits", s.Name, c, Readers, Queue)
			}
		}
	}
}
