package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/redlock"
)

// sample is a moment of a run with everything in it.
func sample() *Snapshot {
	up := func(address string) MasterRow {
		return MasterRow{Address: address, State: "up", Seen: stage.Sight{State: stage.SeenUp}, Known: true, RoundTrip: 210 * time.Microsecond, Answers: true, Held: &redlock.HeldError{Owner: "contender-2", TTL: 1700 * time.Millisecond}}
	}
	s := &Snapshot{
		Begun: true, Elapsed: 83400 * time.Millisecond, Quorum: 3, Serving: 3, Holder: "contender-2", Left: 1300 * time.Millisecond,
		Masters: []MasterRow{
			up("127.0.0.1:40001"),
			{Address: "127.0.0.1:40002", State: "killed", Seen: stage.Sight{State: stage.SeenGone}},
			{Address: "127.0.0.1:40003", State: "frozen", Seen: stage.Sight{State: stage.SeenSilent}},
			up("127.0.0.1:40004"),
			up("127.0.0.1:40005"),
		},
		Contenders: []string{"waits", "holds", "pauses", "waits"},
		Counts:     Counts{Acquired: 123, Refused: 4, Lost: 1},
		Check:      stage.CheckCounts{Holds: 123, Looks: 16680, Tokens: 123},
		Events: []Event{
			{12_000, EventFault, "master 2 killed"},
			{13_000, EventQuorum, "no quorum: 2 of 5 serve, 3 needed"},
			{14_000, EventLoss, "contender-1 lost the lock: unreachable"},
			{75_000, EventFault, "master 3 frozen"},
		},
	}
	s.Masters[3].Offset = -time.Minute
	s.Masters[4].Held, s.Masters[4].Offset = nil, 300*time.Millisecond
	return s
}

func picture() *Picture {
	return &Picture{Title: "redlock-demo chaos   5 masters in this process", TTL: 2 * time.Second, Keys: true, Clocks: true, Selected: 2}
}

func TestThePictureIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	broken := sample()
	broken.Check.Overlaps, broken.Holder, broken.Serving, broken.Counts.Failed = 2, "", 2, 1
	broken.Events = append(broken.Events, Event{76_000, EventViolation, "contender-1 and contender-2 hold the lock at once"})
	coloured := picture()
	coloured.Paint = true
	early := sample()
	early.Begun, early.Serving, early.Events = false, 0, nil
	for i := range early.Masters {
		m := &early.Masters[i]
		m.State, m.Answers, m.Seen = "up", true, stage.Sight{State: stage.SeenAbstains, Left: 1300 * time.Millisecond}
	}
	watching, others := picture(), sample()
	watching.Title, watching.Watching = "redlock-demo chaos   5 masters that others run", true
	for i, state := range []string{stage.SeenUp, stage.SeenGone, stage.SeenSilent, stage.SeenAbstains, stage.SeenUp} {
		others.Masters[i].State = state
	}
	others.Masters[3].Seen = stage.Sight{State: stage.SeenAbstains, Left: 57300 * time.Millisecond}
	others.Events = []Event{{12_000, EventMaster, "master 2 127.0.0.1:40002: down: connection refused"}}
	for _, test := range []struct {
		name          string
		p             *Picture
		s             *Snapshot
		width, height int
	}{
		{"picture-80x24", picture(), sample(), 80, 24},
		{"picture-44x18", picture(), sample(), 44, 18},
		{"picture-120x30", picture(), broken, 120, 30},
		{"picture-early", picture(), early, 80, 24},
		{"picture-colours", coloured, broken, 80, 24},
		{"picture-watching", watching, others, 80, 24},
	} {
		golden(t, test.name, strings.Join(test.p.Draw(test.s, test.width, test.height), "\n")+"\n")
	}
}

func TestThePictureFitsEveryTerminal(t *testing.T) {
	t.Parallel()
	p := picture()
	for _, s := range []*Snapshot{sample(), {Masters: make([]MasterRow, 5)}} {
		for width := range 140 {
			for _, height := range []int{0, 1, 5, 12, 24, 50} {
				lines := p.Draw(s, width, height)
				if len(lines) > height {
					t.Fatalf("%d lines on %dx%d", len(lines), width, height)
				}
				for _, line := range lines {
					if n := utf8.RuneCountInString(line); n > max(width, 24) {
						t.Fatalf("%d columns on %dx%d: %q", n, width, height, line)
					}
				}
			}
		}
	}
}

func TestThePictureBreaksNoWord(t *testing.T) {
	t.Parallel()
	s := sample()
	s.Begun, s.Check.Holds, s.Check.Looks, s.Check.Tokens = false, 12345, 1668000, 12345
	s.Masters[3].Seen = stage.Sight{State: stage.SeenAbstains, Cause: redlock.AbstainDuplicate}
	words := strings.Fields(strings.Join(picture().Draw(s, 200, 24), " "))
	words = append(words, strings.Fields(strings.Join(keyHelp, " "))...)
	words = append(words, strings.Fields(redlock.AbstainDuplicate.String())...)
	for width := 60; width < 200; width++ {
		for _, line := range picture().Draw(s, width, 24) {
			for _, word := range strings.Fields(line) {
				if whole := strings.TrimSuffix(word, "…"); whole != "" && !slices.Contains(words, whole) {
					t.Errorf("at %d columns %q is broken in %q", width, word, line)
				}
			}
		}
	}
}

func TestALineSaysHowEverythingStands(t *testing.T) {
	t.Parallel()
	s := sample()
	const time = "    1:23  · "
	want := "3 of 5 serve · contender-2 holds, 1.3 s left · 123 acquired, 4 refused, 1 lost · never two at once"
	if at, got := s.Line(); at != time || got != want {
		t.Errorf("%q %q, want %q", at, got, want)
	}
	s.Holder, s.Check.Overlaps = "", 1
	want = "3 of 5 serve · nobody holds · 123 acquired, 4 refused, 1 lost · BROKEN: 1 pair at once, 0 tokens fell"
	if at, got := s.Line(); at != time || got != want {
		t.Errorf("%q %q, want %q", at, got, want)
	}
}

func TestAKeyThatDoesNothingIsNotShown(t *testing.T) {
	t.Parallel()
	p := picture()
	p.Clocks = false
	for width, want := range map[int]string{
		100: "1-9 master  k kill  r restart  e restart empty  f freeze  c cut off  q quit",
		60:  "1-9  k kill  r restart  e empty  f freeze  c cut  q quit",
		42:  "1-9 k r(estart) e(mpty) f(reeze) c(ut) q",
		20:  "1-9 k r e f c q",
	} {
		lines := p.Draw(sample(), width, 20)
		if got := strings.TrimSpace(lines[len(lines)-1]); got != want {
			t.Errorf("at %d columns: %q, want %q", width, got, want)
		}
	}
}
