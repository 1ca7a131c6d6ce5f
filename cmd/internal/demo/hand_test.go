package demo

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A person does its acts in order, each once, when the screen shows the act's word.
type person struct {
	buffer
	acts []act
}

type act struct {
	word string
	do   func()
}

func (p *person) Write(b []byte) (int, error) {
	n, err := p.buffer.Write(b)
	if len(p.acts) > 0 && strings.Contains(string(b), p.acts[0].word) {
		go p.acts[0].do() // a person does not block the screen
		p.acts = p.acts[1:]
	}
	return n, err
}

// runWith runs the demonstration on masters that others run, with a person.
func runWith(t *testing.T, m *inside, p *person, o Options) *Result {
	t.Helper()
	o.Person = true
	o.Screen = NewScreen(p, false, false, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o.Cluster = given(m.URLs)
	res, err := Run(ctx, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	if res.Verdict != VerdictPassed {
		t.Errorf("verdict %q\n%s", res.Verdict, p)
	}
	return res
}

func phaseNames(res *Result) string {
	var names []string
	for _, p := range res.Phases {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

func TestAPersonTakesTheMastersAway(t *testing.T) {
	t.Parallel()
	m := masters(t, ownMasters)
	p := &person{acts: []act{
		{"Now stop a master", m.Masters[4].Kill},
		{"Now stop another one", m.Masters[2].Kill},
		{"Now stop another one", m.Masters[1].Kill},
		{"Now start one", func() { _ = m.Masters[2].Restart(true) }},
	}}
	res := runWith(t, m, p, fast())
	if got, want := phaseNames(res), "without a lock, with the lock, one gone, two gone, three gone, one back"; got != want {
		t.Errorf("phases %s, want %s", got, want)
	}
	if len(res.Expectations) != 10 || len(res.Skipped) != 0 {
		t.Errorf("%d expectations, %d skipped\n%s", len(res.Expectations), len(res.Skipped), p)
	}
	for _, said := range []string{"first sale", "after it was seen again", m.Masters[4].Addr() + " is gone: 4 of 5 vote, no lock is lost\n", m.Masters[2].Addr() + " votes again: 3 of 5 vote, locks are granted\n"} {
		if !strings.Contains(p.String(), said) {
			t.Errorf("%q is not printed:\n%s", said, p)
		}
	}
}

func TestASkippedStepIsReportedAndWhatWasSeenIsChecked(t *testing.T) {
	t.Parallel()
	m := masters(t, 3)
	skip := make(chan struct{})
	p := &person{acts: []act{
		{"Now stop a master", m.Masters[0].Kill},
		{"Now stop another one", func() { skip <- struct{}{} }},
	}}
	o := fast()
	o.Skip = skip
	res := runWith(t, m, p, o)
	if got, want := phaseNames(res), "without a lock, with the lock, one gone"; got != want {
		t.Errorf("phases %s, want %s", got, want)
	}
	if len(res.Skipped) != 1 || res.Skipped[0].Why != "by Ctrl-C" {
		t.Errorf("skipped %+v", res.Skipped)
	}
	expectation(t, res, "one of three gone, it goes on")
	expectation(t, res, "the books balance")
	if !strings.Contains(p.String(), "– skipped: by Ctrl-C") || !strings.Contains(p.String(), "→ Now stop another one (within 20.0 s, Ctrl-C skips)\n") {
		t.Errorf("printed:\n%s", p)
	}
}

func TestAPersonWhoDoesNothingIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	o := fast()
	o.patience = 100 * time.Millisecond
	p := &person{}
	res := runWith(t, masters(t, 3), p, o)
	if len(res.Skipped) != 1 || res.Skipped[0].Why != "no change of the masters within 100 ms" {
		t.Errorf("skipped %+v", res.Skipped)
	}
}

func TestMastersThatChangeWhileWatchedDoNotCount(t *testing.T) {
	t.Parallel()
	m := masters(t, 3)
	o := fast()
	o.watch = 500 * time.Millisecond
	p := &person{acts: []act{
		{"Now stop a master", m.Masters[0].Kill},
		{"2 of 3: a quorum", m.Masters[1].Kill}, // while "one gone" is watched
		{"Now start one", func() { _ = m.Masters[1].Restart(true) }},
	}}
	res := runWith(t, m, p, o)
	if got, want := phaseNames(res), "without a lock, with the lock, two gone, one back"; got != want {
		t.Errorf("phases %s, want %s\n%s", got, want, p)
	}
	if !strings.Contains(p.String(), "the masters changed meanwhile: this does not count") {
		t.Errorf("printed:\n%s", p)
	}
}
