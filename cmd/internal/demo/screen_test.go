package demo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func width(n int) func() int { return func() int { return n } }

func TestTheLiveLineIsReplacedAndErased(t *testing.T) {
	t.Parallel()
	var out buffer
	s := NewScreen(&out, false, true, width(10))
	s.show("1234567890123") // must not wrap
	s.show("abc")
	s.line("done")
	s.show("x")
	s.hide()
	s.hide()
	want := eraseLine + "12345678…" + eraseLine + "abc" + eraseLine + "done\n" + eraseLine + "x" + eraseLine
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestParagraphsBreakBetweenWordsOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	var out buffer
	s := NewScreen(&out, false, true, width(24))
	s.paragraph("   ✓ ", 5, "sold 20 of 20, stock 0, at most one")
	want := "   ✓ sold 20 of 20,\n     stock 0, at most\n     one\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestFollowShowsAndEndsWithItsStop(t *testing.T) {
	t.Parallel()
	var out buffer
	s := NewScreen(&out, false, true, width(80))
	shown := make(chan struct{}, 100)
	stop := s.follow(func() string {
		shown <- struct{}{}
		return "busy"
	})
	<-shown
	<-shown // at the first tick
	stop()
	stop()
	if text := out.String(); !strings.Contains(text, "⠙ busy") || !strings.HasSuffix(text, eraseLine) {
		t.Errorf("%q", text)
	}

	var none buffer
	s = NewScreen(&none, true, false, nil)
	s.follow(func() string { t.Error("asked although nothing is live"); return "" })()
	if none.String() != "" {
		t.Errorf("printed %q", none.String())
	}
}

func TestColoursOnlyWhereTheyAreAllowed(t *testing.T) {
	t.Parallel()
	for _, colour := range []term.Paint{false, true} {
		var out buffer
		s := NewScreen(&out, colour, false, nil)
		s.masters([]Master{{Address: "a:1", State: stage.SeenUp}, {Address: "b:22", State: stage.SeenGone, Cause: "connection refused"}})
		s.strip([]Master{{State: stage.SeenUp}}, 1)
		s.line("%s %s", s.Mark(true), s.Mark(false))
		if got := strings.Contains(out.String(), "\x1b["); got != bool(colour) {
			t.Errorf("colour %v: %q", colour, out.String())
		}
	}
}

func TestTablesAreAligned(t *testing.T) {
	t.Parallel()
	var out buffer
	s := NewScreen(&out, false, false, nil)
	s.masters([]Master{
		{Address: "host:1", State: stage.SeenUp, RoundTrip: Millis(1500 * time.Microsecond)},
		{Address: "another-host:22", State: stage.SeenGone, Cause: "connection refused"},
	})
	seven := make([]Master, 7)
	for i := range seven {
		seven[i].State = stage.SeenUp
	}
	seven[1].State, seven[5].State, seven[6].State = stage.SeenGone, stage.SeenGone, stage.SeenGone
	s.strip(seven, 4)
	want := `      master           state
   1  host:1           ✓ up    answers in 1.5 ms
   2  another-host:22  ✗ gone  connection refused
     1 ✓ up     2 ✗ gone   3 ✓ up     4 ✓ up     5 ✓ up     6 ✗ gone   7 ✗ gone
      4 of 7: a quorum
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestNothingIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	const columns = 60
	var out buffer
	s := NewScreen(&out, false, true, width(columns))
	five := make([]Master, 5)
	for i := range five {
		five[i] = Master{Address: "127.0.0.1:40000", State: stage.SeenAbstains, Cause: brief(strings.Repeat("why it abstains ", 9))}
	}
	r := &run{Options: Options{Screen: s}, total: 5, result: &Result{Masters: five}}
	for _, name := range []string{"without a lock", "with the lock", "three gone"} {
		r.result.Phases = append(r.result.Phases, Phase{Name: name, Lock: true, Sales: 12345, P50: Millis(time.Second), P99: Millis(12 * time.Second), Duration: Millis(time.Minute)})
	}
	s.strip(five, 3)
	r.summary()
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSuffix(line, "\n"); term.Width(line) > columns {
			t.Errorf("%d columns: %s", term.Width(line), line)
		}
	}
	if !strings.Contains(out.String(), "12345") || strings.Count(out.String(), "✗ abstains") != 10 {
		t.Errorf("something is missing:\n%s", out.String())
	}
}

func TestTheFirstErrorOfTheScreenIsTold(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	writes := 0
	s := NewScreen(writerFunc(func([]byte) (int, error) { writes++; return 0, broken }), false, true, width(80))
	var told []error
	s.onError(func(err error) { told = append(told, err) })
	s.line("a")
	s.show("b")
	s.line("c")
	if len(told) != 1 || !errors.Is(told[0], broken) || writes != 1 {
		t.Errorf("told %v after %d writes", told, writes)
	}
}

func TestCausesAreShort(t *testing.T) {
	t.Parallel()
	long := "two\nlines\tand tabs, " + strings.Repeat("x", 80)
	if got, want := brief(long), "two lines and tabs, "+strings.Repeat("x", 39)+"…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMillisAreNumbersToTheMicrosecond(t *testing.T) {
	t.Parallel()
	for m, want := range map[Millis]string{0: "0", Millis(1234567): "1.235", Millis(2 * time.Second): "2000"} {
		got, err := m.MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%d: %s, %v, want %s", m, got, err, want)
		}
	}
}

func TestAMasterThatWasNotAwaitedIsNoFailure(t *testing.T) {
	t.Parallel()
	masters := []Master{{Address: "a"}, {Address: "b"}, {Address: "c"}}
	err := &redlock.QuorumError{OK: 1, Need: 2, Total: 3, Nodes: &multierror.Error{Errors: []error{
		&redlock.NodeError{Master: "b", Err: pool.ErrTimeout}, &redlock.NodeError{Master: "c", Err: redlock.ErrNotAwaited},
	}}}
	got := causes(err, masters)
	if got[0].State != stateAgreed || got[1].State != stateFailed || got[2].State != stateMoot || got[2].Cause != "up, but could not change that" {
		t.Errorf("%+v", got)
	}
}
