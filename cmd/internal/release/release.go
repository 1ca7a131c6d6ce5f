// Package release is the command that takes a lock from its holder.
package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/quorum"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

const releaseExamples = `  redlock status invoices          # look first
  redlock release invoices         # stop its holder
  redlock release --yes --json invoices | jq -r .outcome`

// releaseOptions are the flags of release.
type releaseOptions struct {
	*app.SharedFlags
	app.AccessFlags
	yes bool
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &releaseOptions{SharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "release [flags] KEY",
		Short: "Take a lock from its holder, as an operator",
		Long: `release takes a lock from its holder: one that hangs, or whose host is gone. It
shows who holds the lock on a quorum of the masters, and asks for confirmation.

Then it replaces the holder's token by one of yours, on all masters that have
exactly that token. The time that the lock has left stays as it is. The holder
cannot renew the lock any more. It learns that the lock is lost when it tries,
within a third of its TTL. Nobody gets in before the time that was left has
passed, so two never hold it. exec then says "released by an operator
(USER@HOST)", and so does status.

It does not touch a lock that has changed hands since it was shown. Fencing
tokens and lease records stay as they are. It releases plain locks, and writers
of read-write locks; not readers.

Exit code: 0 when it was released, also if an operator had done so before; 1
when nobody held it, or somebody else by then; 69 when too few masters did it,
since the others did not answer or refused, so that the holder may go on; 75
when it is held by what release does not touch; 64 for a mistake in the
arguments or where it is not confirmed.`,
		Example: releaseExamples,

		Args: app.OneKey,
		RunE: func(cmd *cobra.Command, args []string) error { return runRelease(cmd, a, o, args[0]) },
	}
	shared.Register(cmd, "masters", "config", "json")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	o.AccessFlags.Register(cmd)
	return cmd
}

func runRelease(cmd *cobra.Command, a *app.App, o *releaseOptions, key string) error {
	if !o.yes && !a.AsksPerson() {
		return app.Usagef("release asks for confirmation: want --yes where there is no terminal")
	}
	ctx := cmd.Context()
	fleet, err := observe.OpenFleet(cmd, a, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	defer fleet.Close()
	fleet.Await(ctx)
	r := &releasing{
		releaseOptions: o,
		a:              a,
		client:         fleet.Client,
		masters:        fleet.Lines,
		report:         ReleaseReport{Key: key},
	}
	err = r.run(ctx)
	if err != nil && (errors.As(err, new(*app.SignalError)) ||
		errors.As(err, new(*app.UsageError)) || errors.As(err, new(*app.OutputError))) {
		return err
	}
	return r.report.show(a.Out, o.JSON, err)
}

// A releasing is one run of release.
type releasing struct {
	*releaseOptions
	a       *app.App
	client  observe.Inspector
	masters []*observe.Master
	holder  redlock.Holder
	report  ReleaseReport
}

// run looks, asks and acts. The report says how it went, and the error, if any, why
// the lock was not released.
func (r *releasing) run(ctx context.Context) error {
	in, err := r.client.Inspect(ctx, r.report.Key)
	if err != nil {
		return app.InspectionError(ctx, err)
	}
	if err := r.judge(in); err != nil || r.report.Outcome == ReleaseAlready {
		return err
	}
	if !r.yes {
		question := fmt.Sprintf("%s: %s", term.Printable(in.Key), explain.SentenceOf(in))
		consequence := fmt.Sprintf("Its holder cannot renew it any more, and is told so when it tries. "+
			"Nobody gets in before the time that is left is over (%s).", term.Seconds(r.holder.TTL))
		if err := app.Confirm(ctx, r.a, "the lock is left as it is", question, consequence); err != nil {
			return err
		}
	}
	return r.act(ctx, in.Need)
}

// judge says whether there is a holder that can be released, and sets it.
func (r *releasing) judge(in *redlock.Inspection) error {
	key := term.Printable(in.Key)
	switch in.Verdict {
	case redlock.VerdictHeld:
	case redlock.VerdictUnknown:
		r.report.Outcome = app.OutcomeNoQuorum
		return app.EndsWith(app.ExitNoQuorum, explain.TooFew(in))
	case redlock.VerdictFree:
		r.report.Outcome = ReleaseNotHeld
		return app.EndsWith(app.ExitFailed, fmt.Errorf("nobody holds %q: %s", key, in))
	default: // what remains there expires
		r.report.Outcome = ReleaseNotHeld
		return app.EndsWith(app.ExitFailed,
			fmt.Errorf("nobody holds %q on a quorum of masters, "+
				"and what is there expires by itself: %s", key, in))
	}
	r.holder = in.Holders[0]
	if err := untouchable(&r.holder); err != nil {
		r.report.Outcome = ReleaseRefused
		return app.EndsWith(app.ExitBusy, fmt.Errorf("%q is not released: %w", key, err))
	}
	hold := explain.HoldOf(&r.holder)
	r.report.Holder = &hold
	if operator, before := explain.By(r.holder.Token); before {
		r.report.By = operator
		r.report.Outcome = ReleaseAlready
		r.report.FreeInMS = r.holder.TTL.Milliseconds()
	}
	return nil
}

// untouchable returns why the value on a quorum is not released; nil: it may be.
func untouchable(h *redlock.Holder) error {
	switch {
	case h.Type == "zset":
		return errors.New("it is held by readers of a read-write lock, which release does not touch: end them, or wait")
	case h.Type != "string":
		return fmt.Errorf("what is there is a %s, not a lock", term.Printable(h.Type))
	case h.TTL < 0:
		return errors.New("what is there never expires, so it is not a lock")
	case h.Token == "" || len(h.Token) >= tokens.Max:
		return fmt.Errorf("its value has none or more than %d bytes, and is not a lock's token", tokens.Max-1)
	}
	return nil
}

// act takes the lock from its holder.
func (r *releasing) act(ctx context.Context, need int) error {
	bounded, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	r.report.By = tokens.Operator(explain.LongestOperator)
	results := Tombstones(bounded, r.masters, r.report.Key, r.holder.Token, explain.NewToken(r.report.By))
	if ctx.Err() != nil {
		return context.Cause(ctx) // commands that were sent are not taken back
	}
	return r.conclude(results, need)
}

// conclude sets the outcome from the masters' answers.
func (r *releasing) conclude(results []Result, need int) error {
	r.report.Masters = results
	done, failed := 0, 0
	var left []time.Duration
	for i := range results {
		switch res := &results[i]; {
		case res.State == Replaced:
			done++
			left = append(left, res.Left)
		case res.State == Failed:
			failed++
		}
	}
	switch {
	case done >= need:
		r.report.Outcome = ReleaseDone
		r.report.FreeInMS = freeIn(left, len(results)).Milliseconds()
		return nil
	case done+failed < need:
		r.report.Outcome = releaseChanged
		return app.EndsWith(app.ExitFailed,
			fmt.Errorf("the lock has changed hands or ended meanwhile: %s", r.report.doneOn(done)))
	default:
		r.report.Outcome = app.OutcomeNoQuorum
		return app.EndsWith(app.ExitNoQuorum, r.tooFew(done, need))
	}
}

// tooFew says that the holder may go on. Masters that refuse do so again; others may answer next time.
func (r *releasing) tooFew(done, need int) error {
	text := fmt.Sprintf("%s, %d needed. Its holder may go on", r.report.doneOn(done), need)
	refused, helps := 0, explain.Helps{}
	for i := range r.report.Masters {
		m := &r.report.Masters[i]
		if m.State != Failed {
			continue
		}
		if a := explain.Of(m.err); !a.Down && !a.Silent {
			refused++
			helps.Add(a.Help, m.Master)
		}
	}
	if refused == 0 {
		return fmt.Errorf("too few masters answered: %s: try again", text)
	}
	return fmt.Errorf("%s refused: %s", term.Count(refused, "master"),
		strings.Join(append([]string{text + "."}, helps.Sentences()...), " "))
}

// freeIn returns how long the operator's tokens keep others from a quorum of so many masters.
func freeIn(left []time.Duration, masters int) time.Duration {
	slices.Sort(left)
	expired := len(left) - (masters - quorum.Need(masters)) // so many have to expire
	return left[max(expired, 1)-1]
}
