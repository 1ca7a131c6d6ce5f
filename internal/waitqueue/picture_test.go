package waitqueue

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// arrows are those of the table, without the ways to ended.
func arrows() map[string]bool {
	all := make(map[string]bool)
	for from, ways := range ways {
		for _, to := range ways {
			all[state(from).String()+" "+to.String()] = true
		}
	}
	for _, from := range []state{comingAlong, knocking, deaf, blind, called, ourTurn, doubting} {
		all[from.String()+" "+acquired.String()] = true
	}
	return all
}

func TestThePicturesShowTheTable(t *testing.T) {
	for file, arrow := range map[string]*regexp.Regexp{
		"doc.go":                        regexp.MustCompile(`(?m)^//\t(\w+) +-> (.*)$`),
		"../../docs/project/waiting.md": regexp.MustCompile(`(?m)^ +(\w+) --> (\w+)`),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown := make(map[string]bool)
		for _, m := range arrow.FindAllStringSubmatch(string(text), -1) {
			for to := range strings.SplitSeq(m[2], ", ") {
				shown[m[1]+" "+to] = true
			}
		}
		want := arrows()
		if !maps.Equal(shown, want) {
			t.Errorf("%s shows\n%q, the table has\n%q", file, slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(want)))
		}
	}
}
