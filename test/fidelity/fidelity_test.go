package fidelity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/script"
)

// longest is how many commands a sequence has at the most.
const longest = 40

// Both masters answer any commands with the same replies, and store the same.
func TestSimulatedMasterRepliesAndStoresLikeARealOne(t *testing.T) {
	p := startPair(t)
	answered, runs := map[string]bool{}, 0
	rapid.Check(t, func(r *rapid.T) {
		if err := p.reset(); err != nil {
			r.Fatal(err)
		}
		p.load(r)
		var done []string
		least := rapid.SampledFrom([]int{1, 10, 20, 30}).Draw(r, "at least") // without this it makes three or so
		for _, next := range rapid.SliceOfN(rapid.Custom(makeUp), least, longest).Draw(r, "commands") {
			if next.step != 0 {
				if err := p.move(next.step); err != nil {
					r.Fatal(err)
				}
			}
			command := sent(next.command, p.now)
			done = append(done, next.inShort(command))
			reply := p.both(r, command, done)
			if next.script != "" {
				runs++
			}
			if !strings.HasPrefix(inWords(reply), "error") {
				answered[next.script] = true
			}
			p.compare(r, done)
		}
	})
	t.Logf("%d runs of %d scripts", runs, len(scripts()))
	for _, s := range scripts() {
		if !answered[s.Name] && runs > 20*len(scripts()) && !t.Failed() {
			p.wantAnswer(t, s)
		}
	}
}

// wantAnswer runs a script that by chance has returned only errors, until it succeeds.
func (p *pair) wantAnswer(t *testing.T, s *script.Script) {
	t.Helper()
	if err := p.reset(); err != nil {
		t.Fatal(err)
	}
	p.load(t)
	commands := rapid.Custom(func(r *rapid.T) []any { return commandOf(r, s) })
	for n := range 200 {
		if reply := p.both(t, sent(commands.Example(n), p.now), []string{s.Name}); !strings.HasPrefix(inWords(reply), "error") {
			return
		}
	}
	t.Errorf("the script %s was never run without an error: nothing is known of it", s.Name)
}

// This is a test of its own, so that a run on a server that accepts such a TTL says what it
// leaves out.
func TestATTLThatOverflowsIsRefused(t *testing.T) {
	redistest.Need(t, redistest.BoundedTTL)
	p := startPair(t)
	if err := p.reset(); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.sides() {
		if _, err := s.do("SET", "lock", "token"); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]any{{"SET", "lock", "other", "PX", overflowing}, {"PEXPIRE", "lock", overflowing}} {
			if reply, err := s.do(command...); err != nil || inWords(reply) != "error ERR" {
				t.Errorf("%s: %q: %s, %v; want an error", s.name, command, inFull(reply), err)
			}
		}
	}
}

// load loads the scripts into both.
func (p *pair) load(t rapid.TB) {
	for _, s := range scripts() {
		p.both(t, []any{"SCRIPT", "LOAD", s.Source}, []string{"SCRIPT LOAD " + s.Name})
	}
}

// An event is a command, perhaps after a step of the clock.
type event struct {
	step    time.Duration
	command []any
	script  string // its name, if the command runs one
}

func makeUp(t *rapid.T) (e event) {
	if likely(t, "step", 30) {
		e.step = rapid.SampledFrom(steps).Draw(t, "by")
	}
	switch {
	case likely(t, "forgets scripts", 1):
		e.command = []any{"SCRIPT", "FLUSH"}
	case likely(t, "script", 65):
		e.command, e.script = scriptCommand(t)
	default:
		e.command = plainCommand(t)
	}
	return e
}

// both sends a command to both, and wants equal replies.
func (p *pair) both(t rapid.TB, command []any, done []string) any {
	has, err := p.real.do(command...)
	if err != nil {
		t.Fatalf("%s: %v, after\n%s", p.real.name, err, list(done))
	}
	simulated, err := p.simulated.do(command...)
	if err != nil {
		t.Fatalf("%s: %v, after\n%s", p.simulated.name, err, list(done))
	}
	if inWords(has) != inWords(simulated) {
		t.Fatalf("the last reply differs: real %s, simulated %s, after\n%s", inFull(has), inFull(simulated), list(done))
	}
	return has
}

// compare wants both to have sent the same messages, and to store the same.
func (p *pair) compare(t *rapid.T, done []string) {
	messages, err := p.messages()
	if err != nil {
		t.Fatalf("%v, after\n%s", err, list(done))
	}
	if !slices.Equal(messages[0], messages[1]) {
		t.Fatalf("what waiting clients hear differs: real %q, simulated %q, after\n%s", messages[0], messages[1], list(done))
	}
	var stored [2]map[string]string
	for i, s := range p.sides() {
		if stored[i], err = s.stored(); err != nil {
			t.Fatalf("%s: %v, after\n%s", s.name, err, list(done))
		}
	}
	if all := differences(stored[0], stored[1]); all != nil {
		t.Fatalf("what is stored differs:\n    %s\nafter\n%s", strings.Join(all, "\n    "), list(done))
	}
}

// inShort describes an event for people.
func (e *event) inShort(command []any) string {
	var b strings.Builder
	if e.step != 0 {
		fmt.Fprintf(&b, "(%v later) ", e.step)
	}
	for i, word := range command {
		if e.script != "" && i == 1 {
			word = e.script
		}
		fmt.Fprintf(&b, "%.60q ", fmt.Sprint(word))
	}
	return b.String()
}

func list(done []string) string { return "    " + strings.Join(done, "\n    ") }
