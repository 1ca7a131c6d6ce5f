package main

import (
	"strings"
	"testing"
	"time"
)

func TestAScreenShowsWhatATerminalShows(t *testing.T) {
	for _, test := range []struct{ printed, want string }{
		{"one\r\ntwo\r\n", "one|two"},
		{"wait\r\x1b[Kdone\r\n", "done"},
		{"\x1b[2J\x1b[1;1Ha\x1b[3;2Hb", "a|| b"},
		{"\x1b[1mbold\x1b[0m plain", "bold plain"},
		{"\x1b[?25l\x1b[?7lx\x1b[Ay", "xy"},
		{"✓ up", "✓ up"},
	} {
		s := &screen{cols: 20}
		for i := range len(test.printed) { // in the smallest pieces
			s.write(test.printed[i : i+1])
		}
		var got []string
		for _, line := range s.snapshot() {
			got = append(got, plain(line))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%q shows %q, want %q", test.printed, got, test.want)
		}
	}
}

func TestFramesAreTheScreensAtTheTimes(t *testing.T) {
	text, timing := "Script started\na\r\nb\r\nc\r\n", "0.5 3\n0.5 3\n0.5 3\n"
	frames, err := framesOf(options{cols: 10, at: "700ms,1200ms"}, text, timing, len(text))
	if err != nil || len(frames) != 2 || len(frames[0]) != 1 || len(frames[1]) != 2 {
		t.Errorf("%v, %v", frames, err)
	}
	if _, err := framesOf(options{cols: 10, at: time.Minute.String()}, text, timing, len(text)); err == nil {
		t.Error("a time after the end is no error")
	}
	frames, err = framesOf(options{cols: 10, from: "b", to: "c"}, text, timing, len(text))
	if err != nil || len(frames) != 1 || len(frames[0]) != 2 || plain(frames[0][0]) != "b" {
		t.Errorf("%v, %v", frames, err)
	}
	if _, err := framesOf(options{cols: 10, from: "b", to: "a"}, text, timing, len(text)); err == nil {
		t.Error("lines that are not there are no error")
	}
}

func TestAPictureHasTheTextAndItsColours(t *testing.T) {
	s := &screen{cols: 30}
	s.write("\x1b[32m✓\x1b[0m a < b   \x1b[1mend\x1b[0m")
	got := svg([][][]cell{s.snapshot()}, 30, "title")
	for _, want := range []string{`class="c32">✓<`, `>a &lt; b<`, `class="b">end<`, "<title>title</title>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if two := svg([][][]cell{s.snapshot(), s.snapshot()}, 30, "title"); strings.Count(two, `<g class="f"`) != 2 || !strings.Contains(two, "50.0000%") {
		t.Errorf("%s", two)
	}
}

func TestMastersAreNamedAlikeInEachRun(t *testing.T) {
	got := sameAddresses("127.0.0.1:40001|127.0.0.1:39999|127.0.0.1:40001")
	if got != "127.0.0.1:7101 |127.0.0.1:7102 |127.0.0.1:7101 " {
		t.Errorf("%q", got)
	}
}
