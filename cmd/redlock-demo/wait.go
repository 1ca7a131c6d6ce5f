package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/redlock"
)

const waitExamples = `  redlock-demo wait deploy && echo free
  redlock-demo wait --timeout 5m --quiet nightly-report || echo "code $?"`

// waitOptions are the flags of wait.
type waitOptions struct {
	*sharedFlags
	accessFlags
	timeout time.Duration // 0: as long as it takes
	quiet   bool
}

func newWait(a *app, shared *sharedFlags) *cobra.Command {
	o := &waitOptions{sharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "wait [flags] KEY",
		Short: "Wait until a lock is free",
		Long: `wait returns when nobody holds the lock on a quorum of the masters. It takes no
lock: somebody else may take it in the next moment. So run what needs the lock
by exec. It does not delay clients that wait for the lock: it asks all masters
every half second, and as soon as the lock's remaining time has passed.

Exit code: 0 when the lock is free; 75 when it is held and --timeout is over; 69
when for 3 s too few masters answer to tell, or at the end of --timeout; 64 for a
mistake in the arguments.`,
		Example: waitExamples,

		Annotations: map[string]string{heeds: "masters config json"},
		Args:        oneKey,
		RunE:        func(cmd *cobra.Command, args []string) error { return runWait(cmd, a, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.Var(orZero(rangeFlag(&o.timeout, minWait, maxWait)), "timeout", "how long to wait; 0: without limit")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print only mistakes in the arguments; the exit code answers")
	o.accessFlags.register(cmd)
	return cmd
}

func runWait(cmd *cobra.Command, a *app, o *waitOptions, key string) error {
	ctx := cmd.Context()
	client, err := o.open(cmd, a, o.sharedFlags, redlock.WithGuard(redlock.GuardOff))
	if err != nil {
		return err
	}
	defer client.Close()
	awaitMasters(ctx, client, func(_, unknown, _ int) bool { return unknown == 0 })
	w := &waitFor{client: client, key: key, timeout: o.timeout}
	if isTerminal(os.Stderr) && !o.quiet && !o.json {
		w.tell = func(in *redlock.Inspection) {
			fmt.Fprintf(a.err, "redlock-demo: waiting for lock %q, %s\n", key, sentenceOf(in))
		}
	}
	err = w.run(ctx)
	if err != nil && exitCode(err) != exitBusy && exitCode(err) != exitNoQuorum {
		return err
	}
	return o.show(a, w, err)
}

// show prints how the waiting ended, and gives what remains of the error.
func (o *waitOptions) show(a *app, w *waitFor, err error) error {
	code := exitCode(err)
	switch {
	case o.quiet && err != nil:
		return &codeError{code: code}
	case o.quiet:
		return nil
	case o.json:
		r := waitReport{Key: w.key, Outcome: w.outcome(code), ExitCode: code, Sentence: sentenceOf(w.last), WaitedMS: w.waited.Milliseconds()}
		return report(a.out, r, err)
	case err != nil:
		return err
	}
	return emit(a.out, bytes.NewBufferString(fmt.Sprintf("%s: %s\n", printable(w.key), sentenceOf(w.last))))
}

// A waitReport is what --json prints.
type waitReport struct {
	Key      string `json:"key"`
	Outcome  string `json:"outcome"` // free, timeout or no-quorum
	ExitCode int    `json:"exit_code"`
	Sentence string `json:"sentence"` // of the last look
	WaitedMS int64  `json:"waited_ms"`
}

// A waitFor is one run of wait.
type waitFor struct {
	client  inspector
	key     string
	timeout time.Duration                // 0: none
	tell    func(in *redlock.Inspection) // once, when it begins to wait; may be nil

	last     *redlock.Inspection
	waited   time.Duration
	answered time.Duration // when enough masters answered last
	loose    bool          // the last look found a token without a quorum
}

func (w *waitFor) outcome(code int) string {
	switch code {
	case exitOK:
		return verdictNames[redlock.VerdictFree]
	case exitNoQuorum:
		return outcomeNoQuorum
	default:
		return "timeout"
	}
}

// How often the masters are asked.
const (
	waitEvery = 500 * time.Millisecond
	waitLeast = 100 * time.Millisecond
	// silenceBound is for how long too few masters may answer.
	silenceBound = 3 * time.Second
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
			return inspectionError(ctx, err)
		}
		first := w.last == nil
		w.last, w.waited = in, time.Since(began)
		if w.free(in) {
			return nil
		}
		if err := w.over(in); err != nil {
			return err
		}
		if first && w.tell != nil {
			w.tell(in)
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
	over := w.timeout > 0 && w.waited >= w.timeout
	switch {
	case silent && (over || w.waited-w.answered > silenceBound):
		return &codeError{exitNoQuorum, fmt.Errorf("too few masters answer to say who holds %q: %s", printable(w.key), in)}
	case over:
		return &codeError{exitBusy, fmt.Errorf("lock %q is not free after %v: %s", printable(w.key), w.timeout, sentenceOf(in))}
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
	return sleep.For(ctx, d)
}
