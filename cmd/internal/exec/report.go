package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/redlock"
)

// A narrator reports on standard error what happens to the lock, and counts it.
type narrator struct {
	app     *app.App
	began   time.Time
	silent  bool // prints nothing except the document at the end
	key     string
	verbose bool
	person  bool                    // standard error is a terminal
	lines   *deliver.Deliverer      // prints lines; the command and its end do not wait for a slow reader
	started chan struct{}           // closed when the command was started, or will not be
	giveUp  context.CancelCauseFunc // ends a useless wait for the lock

	mu          sync.Mutex // guards what follows
	attempts    int
	waitPrinted bool          // it was printed that exec waits
	named       bool          // and for which holder
	outageAt    time.Time     // when the current outage began; zero: the last attempt found a quorum
	outaged     time.Duration // sum of the earlier outages
	reached     bool          // an attempt has found a quorum
	outages     bool          // this outage was printed
	renewals    int
	retries     int
	failing     bool // the last renewal failed
}

// say queues a line to be printed, if it is wanted.
func (n *narrator) say(wanted bool, format string, args ...any) {
	if wanted && !n.silent {
		text := fmt.Sprintf(format, args...)
		n.lines.Put(func() { n.app.Say(text) })
	}
}

// trace returns the trace for the client.
func (n *narrator) trace() *redlock.Trace {
	return &redlock.Trace{
		Attempt: n.attempted,
		Retry:   n.retry,
		Wait:    n.waited,
		Renewal: n.renewed,
		Unlock:  n.unlocked,
	}
}

// attempted records since when there has been no quorum.
func (n *narrator) attempted(i redlock.AttemptInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !errors.Is(i.Err, redlock.ErrNoQuorum):
		if !n.outageAt.IsZero() {
			n.outaged += time.Since(n.outageAt)
		}
		n.outageAt, n.outages, n.reached = time.Time{}, false, true
	case n.outageAt.IsZero() && !n.reached:
		n.outageAt = n.began
	case n.outageAt.IsZero():
		n.outageAt = time.Now().Add(-i.Elapsed)
	}
}

// outage returns for how long there has been no quorum.
func (n *narrator) outage() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.outageAt.IsZero() {
		return 0
	}
	return time.Since(n.outageAt)
}

// inOutages returns for how long in total there was no quorum.
func (n *narrator) inOutages() time.Duration {
	now := n.outage()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.outaged + now
}

// retry prints once what exec waits for, a second time if it learns the holder's name later,
// and once for each outage.
func (n *narrator) retry(i redlock.AttemptInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if errors.Is(i.Err, redlock.ErrNoQuorum) {
		failed, ok := errors.AsType[*redlock.QuorumError](i.Err)
		if ok && isMisconfigured(failed) {
			n.giveUp(i.Err)
			return
		}
		if ok && !n.outages {
			lasted := time.Since(n.outageAt)
			wanted := n.verbose || n.person || lasted >= app.Quiet
			n.say(wanted, "no quorum for lock %q, trying again: %s", n.key, explain.WhyNoQuorum(failed, lasted))
			n.outages = wanted
		}
		return
	}
	// The first pause may come before the masters have been asked for the name.
	n.retries++
	holder := explain.HeldBy(i.Err)
	known := holder != explain.HeldByUnknown
	if n.named || !known && (n.waitPrinted || n.retries == 1) {
		return
	}
	by := ", "
	if !strings.HasPrefix(holder, "held by ") { // a value that is no lock
		by = ": "
	}
	n.say(n.verbose || n.person, "waiting for lock %q%s%s", n.key, by, holder)
	n.waitPrinted, n.named = true, known
}

func (n *narrator) waited(i redlock.WaitInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempts += i.Attempts
	if i.Err == nil {
		n.lines.Put(func() { <-n.started }) // this holds back all later lines, too
		n.say(n.verbose, "locked %q after %v, attempt %d", n.key, i.Waited.Round(time.Millisecond), i.Attempts)
	}
}

func (n *narrator) renewed(i redlock.ExtendInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case errors.Is(i.Err, redlock.ErrLost): // reported when the command ends
		return
	case i.Err != nil:
		n.say((n.verbose || n.person) && !n.failing,
			"renewal of %q is in trouble: %s; the lock ends at %s unless it succeeds",
			n.key, explain.NotRenewed(i.Err), time.Now().Add(i.Remaining).Format(time.TimeOnly))
		n.failing = true
		return
	case n.failing:
		n.say(n.verbose || n.person, "renewal of %q works again", n.key)
	}
	n.renewals, n.failing = max(n.renewals, i.Count), false
	n.say(n.verbose, "renewed %q, %d so far", n.key, i.Count)
}

func (n *narrator) unlocked(i redlock.UnlockInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case i.Err == nil:
		n.say(n.verbose, "unlocked %q, held for %v", n.key, i.Held.Round(time.Millisecond))
	case !errors.Is(i.Err, redlock.ErrNotHeld):
		n.say(n.verbose, "the release was not confirmed, the lock expires by itself: %v", i.Err)
	}
}

// An ExecReport is what --json prints.
type ExecReport struct {
	Key      string         `json:"key"`
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

// Outcomes of an ExecReport.
const (
	outcomeEnded       = "ended"       // the command ended, for whatever reason
	outcomeBusy        = "busy"        // somebody else holds the lock
	outcomeLost        = "lost"        // the lock was lost, and the command was ended
	outcomeInterrupted = "interrupted" // by a signal, before the lock was acquired
	outcomeNotRun      = "not-run"     // the command could not be run
)

// report prints the document of a run, and returns an error that has only the exit code and signal.
func (e *execution) report(out io.Writer, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := ExecReport{
		Key: e.key, Outcome: e.outcome(err), ExitCode: app.ExitCode(err),
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
	return app.Silently(err)
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
