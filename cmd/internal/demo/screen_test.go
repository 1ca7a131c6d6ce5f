package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"

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

func TestNothingIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	const columns = 60
	var out buffer
	s := NewScreen(&out, false, true, width(columns))
	five := make([]Master, 5)
	for i := range five {
		five[i] = Master{Address: "127.0.0.1:40000", State: seenAbstains, Cause: brief(strings.Repeat("why it abstains ", 9))}
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
