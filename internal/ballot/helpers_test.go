package ballot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/internal/voters"
)

// A fleet is embedded masters in a bubble of virtual time, and what rounds need to
// ask them.
type fleet struct {
	*masters.Bubble
	life         context.Context
	beginClosing context.CancelCauseFunc
	cfg          *ballot.Config
}

// inFleet runs a test against n masters.
func inFleet(t *testing.T, n int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	inFleetAt(t, n, nil, test)
}

// inFleetAt is inFleet with further addresses: the masters in also, counted from 0, are listed
// twice.
func inFleetAt(t *testing.T, n int, also []int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	masters.InBubble(t, n, func(t *testing.T, b *masters.Bubble) {
		f := &fleet{Bubble: b}
		f.life, f.beginClosing = context.WithCancelCause(context.Background())
		b.AtEnd(func() { f.beginClosing(nil) })
		for _, i := range also {
			b.All = append(b.All, b.All[i])
		}
		f.cfg = &ballot.Config{Group: &quorum.Group{Need: quorum.Need(len(b.All)), Clock: drift.Runtime(), Closing: f.life}}
		f.cfg.Masters = b.Pipelines(func(i int, c *pipeline.Config) {
			c.Name = fmt.Sprint("address-", i+1)
			c.StallLimit = time.Hour // a frozen master is silent, and not given up
		})
		f.watched(guard.Config{Level: guard.Off})
		b.AtEnd(func() { f.cfg.Voters.Close() })
		synctest.Wait()
		test(t, f)
	})
}

// errClosed is the cause with which the client's life ends.
var errClosed = errors.New("the client is closed")

// close does to rounds what the client's Close does.
func (f *fleet) close() { f.beginClosing(errClosed) }

// guarded makes the rounds of the test ask a guard which masters may vote.
func (f *fleet) guarded() {
	f.T.Helper()
	f.cfg.Voters.Close()
	f.watched(guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: len(f.All), Drift: drift.Default})
	// A list that has a server twice is not declared new: its masters are adopted, and vote
	// after a quarantine.
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	if !f.cfg.Voters.MayVote(0) || !f.cfg.Voters.MayVote(1) {
		f.T.Fatal("the first two masters may not vote")
	}
}

// watched makes a guard of this configuration judge the masters.
func (f *fleet) watched(cfg guard.Config) {
	f.cfg.Voters = voters.New(voters.Config{Group: f.cfg.Group, Guard: cfg})
}

// answers sets what each master answers: y agrees, n refuses, x fails, - does not answer
// until it is thawed.
func (f *fleet) answers(each string) {
	f.T.Helper()
	synctest.Wait() // earlier questions are answered first
	for i, a := range each {
		if a == '-' {
			f.All[i].Freeze()
			continue
		}
		f.answer(i, string(a))
	}
}

func (f *fleet) answer(i int, a string) {
	f.T.Helper()
	if err := f.All[i].Set("answer", a, 0); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fleet) thawAll() {
	for i := range f.All {
		f.Thaw(i)
	}
}

// asked returns how often a master has executed the question.
func (f *fleet) asked(i int) int { return f.All[i].Commands()["GET"] }

// wantInFlight fails unless Close would wait for this many rounds.
func (f *fleet) wantInFlight(want int64) {
	f.T.Helper()
	if n := f.cfg.InFlight.Load(); n != want {
		f.T.Errorf("%d ballots are in flight, want %d", n, want)
	}
}

// A poll is a question that each master answers with the value of a key.
type poll struct {
	ballot.Round
	f *fleet
	// resend, if it is set, is called by Resend.
	resend func(c *pipeline.Call) bool

	mu     sync.Mutex // guards events
	events []string
}

var (
	errNoAnswer = errors.New("the master has no answer")
	everyone    = ballot.Rules{All: true}
	persistent  = ballot.Rules{Persist: true}
	voting      = ballot.Rules{Votes: true}
)

// poll makes a round that has not begun.
func (f *fleet) poll() *poll {
	p := &poll{f: f}
	p.Init(f.cfg, p)
	return p
}

// getCommand is a command that reads another key.
func getCommand(key string) *pipeline.Command {
	return &pipeline.Command{Cmd: "GET", Encoded: pipeline.AppendCommand(nil, "GET", key)}
}

// begun makes a round that has begun.
func (f *fleet) begun(rules ballot.Rules) *poll {
	p := f.poll()
	p.Begin(rules)
	return p
}

// beginAgain begins the next use of a round, which must be free.
func (p *poll) beginAgain(rules ballot.Rules) {
	p.f.T.Helper()
	synctest.Wait()
	if got := p.happened("free"); got != "free" {
		p.f.T.Fatalf("the ballot is not free once: %q", got)
	}
	p.mu.Lock()
	p.events = nil
	p.mu.Unlock()
	p.Begin(rules)
}

// ask sends the question to all masters, and waits for the answers that come at once.
func (p *poll) ask() *poll {
	p.send(0, time.Time{})
	synctest.Wait()
	return p
}

func (p *poll) send(skip quorum.MasterSet, keep time.Time) {
	p.Command.Encoded = pipeline.AppendCommand(p.Command.Encoded[:0], "GET", "answer")
	p.Send("GET", skip, keep)
}

// Read implements ballot.Question.
func (p *poll) Read(c *pipeline.Call) ballot.Answer {
	p.note("read", c.Slot)
	if c.Err != nil {
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err}
	}
	text, _ := c.Reply.([]byte)
	switch a := string(text); {
	case a == "y":
		return ballot.Answer{Verdict: ballot.Agreed}
	case a == "n":
		return ballot.Answer{Verdict: ballot.Refused}
	default:
		return ballot.Answer{Verdict: ballot.Failed, Err: errNoAnswer}
	}
}

// Resend implements ballot.Question.
func (p *poll) Resend(c *pipeline.Call) bool { return p.resend != nil && p.resend(c) }

// Ended implements ballot.Question. It is called with no lock held.
func (p *poll) Ended(c *pipeline.Call) {
	p.Lock()
	defer p.Unlock()
	p.note("ended", c.Slot)
}

// Free implements ballot.Question.
func (p *poll) Free() { p.note("free") }

// note records an event: a word, and the masters that it is about.
func (p *poll) note(what string, masters ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range masters {
		what += fmt.Sprint(" ", i)
	}
	p.events = append(p.events, what)
}

// happened returns the events of these kinds so far.
func (p *poll) happened(kinds ...string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var events []string
	for _, e := range p.events {
		if kind, _, _ := strings.Cut(e, " "); slices.Contains(kinds, kind) {
			events = append(events, e)
		}
	}
	return strings.Join(events, ", ")
}

// wantHappened fails unless exactly these events have happened, in this order.
func (p *poll) wantHappened(want string, kinds ...string) {
	p.f.T.Helper()
	if got := p.happened(kinds...); got != want {
		p.f.T.Errorf("%v: %q has happened, want %q", kinds, got, want)
	}
}

// wantOutcome fails unless this is the decision, and a deadline made it or did not.
func (p *poll) wantOutcome(want quorum.Outcome, byDeadline bool) {
	p.f.T.Helper()
	p.Lock()
	defer p.Unlock()
	if o, expired := p.Outcome(); o != want || expired != byDeadline {
		p.f.T.Errorf("outcome %v, by a deadline: %v; want %v, %v", o, expired, want, byDeadline)
	}
}

// wantTally fails unless the answers have these counts.
func (p *poll) wantTally(ok, refused, failed int) {
	p.f.T.Helper()
	p.Lock()
	defer p.Unlock()
	if n := p.Tally(); n.OK != ok || n.Refused != refused || n.Failed != failed {
		p.f.T.Errorf("%d agreed, %d refused, %d failed; want %d, %d, %d", n.OK, n.Refused, n.Failed, ok, refused, failed)
	}
}

// answerOf returns a master's part.
func (p *poll) answerOf(i int) ballot.Answer {
	p.Lock()
	defer p.Unlock()
	return p.Answers()[i]
}

// wait is Wait without a context. It fails unless that takes exactly this long.
func (p *poll) wait(limit, want time.Duration) error {
	p.f.T.Helper()
	return p.f.takes(want, func() error { return p.Wait(noContext, limit) })
}

// waits is wait that must not be ended by the client's Close or a context.
func (p *poll) waits(limit, want time.Duration) {
	p.f.T.Helper()
	if err := p.wait(limit, want); err != nil {
		p.f.T.Error(err)
	}
}

// takes fails unless wait takes exactly this long, in virtual time.
func (f *fleet) takes(want time.Duration, wait func() error) error {
	f.T.Helper()
	began := time.Now()
	err := wait()
	if took := time.Since(began); took != want {
		f.T.Errorf("it waited for %v, want %v", took, want)
	}
	return err
}
