// Package wait is the command that waits until a lock is free.
package wait

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

const waitExamples = `  redlock wait deploy && echo free
  redlock wait -n -q deploy && echo "nobody deploys"
  redlock wait --wait 5m --quiet nightly-report || echo "code $?"`

// waitOptions are the flags of wait.
type waitOptions struct {
	*app.SharedFlags
	app.AccessFlags
	timeout time.Duration // 0: as long as it takes
	try     bool
	quiet   bool
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &waitOptions{SharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "wait [flags] KEY",
		Short: "Wait until a lock is free",
		Long: `wait returns when nobody holds the lock on a quorum of the masters. It takes no
lock: somebody else may take it in the next moment. So run what needs the lock
by exec. It does not delay clients that wait for the lock: it asks all masters
every half second, and as soon as the lock's remaining time has passed.

Exit code: 0 when the lock is free; 75 when it is held and --wait is over, or
with --try; 69 when for 3 s too few masters answer to tell, or at the end of
--wait; 64 for a mistake in the arguments.`,
		Example: waitExamples,

		Args: app.OneKey,
		RunE: func(cmd *cobra.Command, args []string) error { return runWait(cmd, a, o, args[0]) },
	}
	shared.Register(cmd, "masters", "config", "json")
	flags := cmd.Flags()
	flags.VarP(app.OrZero(app.RangeFlag(&o.timeout, app.MinWait, app.MaxWait)), "wait", "w", "how long to wait; 0: without limit")
	flags.BoolVarP(&o.try, "try", "n", false, "do not wait: ask once whether somebody holds the lock")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print only mistakes in the arguments; the exit code answers")
	o.AccessFlags.Register(cmd)
	return cmd
}

func runWait(cmd *cobra.Command, a *app.App, o *waitOptions, key string) error {
	if o.try && cmd.Flags().Changed("wait") {
		return app.Usagef("--try and --wait exclude each other: --try does not wait, --wait says for how long to wait")
	}
	ctx, began := cmd.Context(), time.Now()
	fleet, err := observe.OpenFleet(cmd, a, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	defer fleet.Close()
	fleet.Await(ctx)
	w := &waitFor{client: fleet.Client, key: key, timeout: o.timeout, once: o.try}
	if !o.quiet && !o.JSON {
		w.tell = func(in *redlock.Inspection) (told bool) {
			outage := in.Verdict == redlock.VerdictUnknown && time.Since(began) >= app.Quiet
			if told = outage || term.IsTerminal(os.Stderr); told {
				a.Say(fmt.Sprintf("waiting for lock %q, %s", key, say.SentenceOf(in)))
			}
			return told
		}
	}
	err = w.run(ctx)
	if err != nil && app.ExitCode(err) != app.ExitBusy && app.ExitCode(err) != app.ExitNoQuorum {
		return err
	}
	return o.show(a, w, err)
}

// show prints how the waiting ended, and gives what remains of the error.
func (o *waitOptions) show(a *app.App, w *waitFor, err error) error {
	code := app.ExitCode(err)
	switch {
	case o.quiet && err != nil:
		return &app.CodeError{Code: code}
	case o.quiet:
		return nil
	case o.JSON:
		r := WaitReport{Key: w.key, Outcome: w.outcome(code), ExitCode: code, Sentence: say.SentenceOf(w.last), WaitedMS: w.waited.Milliseconds()}
		return app.Report(a.Out, r, err)
	case err != nil:
		return err
	}
	return app.Emit(a.Out, bytes.NewBufferString(fmt.Sprintf("%s: %s\n", term.Printable(w.key), say.SentenceOf(w.last))))
}

// A WaitReport is what --json prints.
type WaitReport struct {
	Key      string `json:"key"`
	Outcome  string `json:"outcome"` // free, timeout or no-quorum
	ExitCode int    `json:"exit_code"`
	Sentence string `json:"sentence"` // of the last look
	WaitedMS int64  `json:"waited_ms"`
}

// A waitFor is one run of wait.
type waitFor struct {
	client  observe.Inspector
	key     string
	timeout time.Duration // 0: none
	once    bool          // it looks again only where that needs a second look
	// tell says what is waited for, until it reports that it has; nil: nobody is told.
	tell func(in *redlock.Inspection) (told bool)

	last     *redlock.Inspection
	waited   time.Duration
	answered time.Duration // when enough masters answered last
	loose    bool          // the last look found a token without a quorum
}

func (w *waitFor) outcome(code int) string {
	switch code {
	case app.ExitOK:
		return say.VerdictNames[redlock.VerdictFree]
	case app.ExitNoQuorum:
		return app.OutcomeNoQuorum
	default:
		return "timeout"
	}
}

// How often the masters are asked.
const (
	waitEvery = 500 * time.Millisecond
	waitLeast = 100 * time.Millisecond
	// SilenceBound is for how long too few masters may answer.
	SilenceBound = 3 * time.Second
)

// run asks until nobody holds the lock.
func (w *waitFor) run(ctx context.Context) error {
	began := time.Now()
	for {
		in, err := w.client.Inspect(ctx, w.key)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return app.InspectionError(ctx, err)
		}
		w.last, w.waited = in, time.Since(began)
		if w.free(in) {
			return nil
		}
		if err := w.over(in); err != nil {
			return err
		}
		if w.tell != nil && w.tell(in) {
			w.tell = nil
		}
		if err := w.pause(ctx, in); err != nil {
			return err
		}
	}
}

// free reports whether nobody holds the lock. A key without a quorum has to be seen
// twice: it may be that of an attempt, or of a release, that is under way.
func (w *waitFor) free(in *redlock.Inspection) bool {
	loose := in.Verdict == redlock.VerdictSplit || in.Verdict == redlock.VerdictPartial
	before := w.loose
	w.loose = loose
	return in.Verdict == redlock.VerdictFree || loose && before
}

// over says why to wait no longer; nil: wait.
func (w *waitFor) over(in *redlock.Inspection) error {
	silent := in.Verdict == redlock.VerdictUnknown
	if !silent {
		w.answered = w.waited
	}
	over := w.timeout > 0 && w.waited >= w.timeout || w.once && !w.loose
	switch {
	case silent && (over || w.waited-w.answered > SilenceBound):
		return app.EndsWith(app.ExitNoQuorum, say.TooFew(in))
	case over:
		after := ""
		if !w.once {
			after = fmt.Sprintf(" after %v", w.timeout)
		}
		return app.EndsWith(app.ExitBusy, fmt.Errorf("lock %q is not free%s: %s", term.Printable(w.key), after, say.SentenceOf(in)))
	}
	return nil
}

// pause waits until it is time to look again.
func (w *waitFor) pause(ctx context.Context, in *redlock.Inspection) error {
	d := waitEvery - time.Duration(rand.Int64N(int64(waitEvery/5)))
	switch in.Verdict {
	case redlock.VerdictHeld:
		if left := in.Holders[0].TTL; left >= 0 {
			d = min(d, left+time.Millisecond)
		}
	default:
		d = waitLeast
	}
	d = max(d, waitLeast)
	if w.timeout > 0 {
		d = min(d, max(w.timeout-w.waited, 0))
	}
	return app.Sleep(ctx, d)
}
