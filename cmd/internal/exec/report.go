package exec

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

// A narrator tells on standard error what happens to the lock, and counts it.
type narrator struct {
	app     *app.App
	began   time.Time
	silent  bool // but for the document at the end
	key     string
	verbose bool
	person  bool // somebody looks at it
	pauses  *pauseWatch

	mu       sync.Mutex // guards what follows, and keeps lines whole
	attempts int
	told     bool      // that it waits
	named    bool      // and for whom
	outageAt time.Time // when the attempts began that find no quorum; zero: the last did
	reached  bool      // a quorum, once
	outages  bool      // told, of this outage
	renewals int
	retries  int
}

// tell prints a line where everything is to be told.
func (n *narrator) tell(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line(n.verbose, format, args...)
}

// say prints a line.
func (n *narrator) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line(true, format, args...)
}

// line prints a line if wanted. The caller must hold n.mu.
func (n *narrator) line(wanted bool, format string, args ...any) {
	if wanted {
		n.app.Say(fmt.Sprintf(format, args...))
	}
}

// A fleetNarrator tells what happens to the lock in one fleet.
type fleetNarrator struct {
	*narrator
	in      string // the fleet; "": there is one
	failing bool   // the last renewal did; guarded by mu
}

// trace is what the client of a fleet is to be given; "": there is one fleet.
func (n *narrator) trace(fleet string) *redlock.Trace {
	f := &fleetNarrator{narrator: n, in: say.InFleet(fleet)}
	return &redlock.Trace{
		Attempt: n.attempted,
		Retry:   n.retry,
		Wait:    f.waited,
		Renewal: f.renewed,
		Unlock:  f.unlocked,
	}
}

// quotedList is names for people.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, " and ")
}

// attempted notes since when there has been no quorum.
func (n *narrator) attempted(i redlock.AttemptInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !errors.Is(i.Err, redlock.ErrNoQuorum):
		n.outageAt, n.outages, n.reached = time.Time{}, false, true
	case n.outageAt.IsZero() && !n.reached:
		n.outageAt = n.began
	case n.outageAt.IsZero():
		n.outageAt = time.Now().Add(-i.Elapsed)
	}
}

// outage is for how long there has been no quorum.
func (n *narrator) outage() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.outageAt.IsZero() {
		return 0
	}
	return time.Since(n.outageAt)
}

// retry tells once what is waited for, a second time where the holder's name is
// learnt later, and once of each outage.
func (n *narrator) retry(i redlock.RetryInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if errors.Is(i.Err, redlock.ErrNoQuorum) {
		if failed, ok := errors.AsType[*redlock.QuorumError](i.Err); ok && !n.outages {
			lasted := time.Since(n.outageAt)
			wanted := n.verbose || n.person || !n.silent && lasted >= app.Quiet
			n.line(wanted, "no quorum for lock %q, trying again: %s", n.key, say.WhyNoQuorum(failed, lasted))
			n.outages = wanted
		}
		return
	}
	// The first pause may come before the masters have been asked for the name.
	n.retries++
	holder := say.HeldBy(i.Err)
	known := holder != say.HeldByUnknown
	if n.named || !known && (n.told || n.retries == 1) {
		return
	}
	by := ", "
	if !strings.HasPrefix(holder, "held by ") { // but something else stands there
		by = ": "
	}
	n.line(n.verbose || n.person, "waiting for lock %q%s%s", n.key, by, holder)
	n.told, n.named = true, known
}

func (n *fleetNarrator) waited(i redlock.WaitInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempts += i.Attempts
	if i.Err == nil {
		n.line(n.verbose, "locked %q%s after %v, attempt %d", n.key, n.in, i.Waited.Round(time.Millisecond), i.Attempts)
	}
}

func (n *fleetNarrator) renewed(i redlock.RenewalInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case errors.Is(i.Err, redlock.ErrLost): // of which the command's end tells
		return
	case i.Err != nil:
		n.line((n.verbose || n.person) && !n.failing, "renewal of %q%s is in trouble: %s; the lock ends at %s unless it succeeds",
			n.key, n.in, say.NotRenewed(i.Err), time.Now().Add(i.Remaining).Format(time.TimeOnly))
		n.failing = true
		return
	case n.failing:
		n.line(n.verbose || n.person, "renewal of %q%s works again", n.key, n.in)
	}
	n.renewals, n.failing = max(n.renewals, i.Count), false
	n.pauses.forget()
	n.line(n.verbose, "renewed %q%s, %d so far", n.key, n.in, i.Count)
}

func (n *fleetNarrator) unlocked(i redlock.UnlockInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case i.Err == nil:
		n.line(n.verbose, "unlocked %q%s, held for %v", n.key, n.in, i.Held.Round(time.Millisecond))
	case !errors.Is(i.Err, redlock.ErrNotHeld):
		n.line(n.verbose, "the release was not confirmed, the lock expires by itself: %v", i.Err)
	}
}

// An ExecReport is what --json prints.
type ExecReport struct {
	Key      string         `json:"key"`
	Fleets   []string       `json:"fleets,omitempty"` // that have the key, where there are several
	Outcome  string         `json:"outcome"`
	ExitCode int            `json:"exit_code"`
	Error    string         `json:"error,omitempty"`
	Command  *commandReport `json:"command"` // null: it was not run
	WaitedMS int64          `json:"waited_ms"`
	HeldMS   int64          `json:"held_ms"`
	Attempts int            `json:"attempts"`
	Renewals int            `json:"renewals"`
}

type commandReport struct {
	ExitCode int  `json:"exit_code"`
	Signal   int  `json:"signal,omitempty"` // that ended it
	Killed   bool `json:"killed,omitempty"` // by SIGKILL, after a loss
}

// Outcomes of an execReport.
const (
	outcomeEnded       = "ended"       // the command has, by whatever
	outcomeBusy        = "busy"        // somebody else holds the lock
	outcomeLost        = "lost"        // the lock was, and the command was ended
	outcomeInterrupted = "interrupted" // by a signal, before the lock was acquired
	outcomeNotRun      = "not-run"     // the command could not be
)

// report prints how a run went, and gives what remains of its error: the exit
// code.
func (e *execution) report(out io.Writer, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := ExecReport{
		Key: e.key, Fleets: e.place.names(), Outcome: e.outcome(err), ExitCode: app.ExitCode(err),
		WaitedMS: e.waited.Milliseconds(), HeldMS: e.heldFor.Milliseconds(),
		Attempts: e.attempts, Renewals: e.renewals,
	}
	if err != nil {
		r.Error = term.Redacted(err.Error())
	}
	if c := e.command; c != nil {
		r.Command = &commandReport{ExitCode: c.Code, Signal: int(c.Signal), Killed: c.Killed}
	}
	text, _ := term.JSON(r, false)
	_, _ = out.Write(text) // there is nowhere left to say that it failed
	if err == nil {
		return nil
	}
	return &app.CodeError{Code: r.ExitCode}
}

func (e *execution) outcome(err error) string {
	switch {
	case errors.Is(err, redlock.ErrLost):
		return outcomeLost
	case e.command != nil:
		return outcomeEnded
	case errors.As(err, new(*app.SignalError)):
		return outcomeInterrupted
	case errors.As(err, new(*busyError)):
		return outcomeBusy
	case app.ExitCode(err) == app.ExitNoQuorum:
		return app.OutcomeNoQuorum
	default:
		return outcomeNotRun
	}
}
