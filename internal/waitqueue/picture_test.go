package waitqueue

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// arrows returns the transitions of the table, without those to ended.
func arrows() map[string]bool {
	all := make(map[string]bool)
	for from, ways := range ways {
		for _, to := range ways {
			all[state(from).String()+" "+to.String()] = true
		}
	}
	for _, from := range []state{following, probing, unsubscribed, polling, signaled, myTurn, rechecking, elsewhere} {
		all[from.String()+" "+acquired.String()] = true
	}
	return all
}

func TestTheCommentShowsTheTable(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w+) +-> (.*)$`).FindAllStringSubmatch(string(text), -1) {
		for to := range strings.SplitSeq(m[2], ", ") {
			shown[m[1]+" "+to] = true
		}
	}
	if want := arrows(); !maps.Equal(shown, want) {
		t.Errorf("doc.go shows\n%q, the table has\n%q", slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(want)))
	}
}
