package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/survey"
	"github.com/redquorum/redquorum/internal/quorum"
)

const locksExamples = `  redlock-demo locks
  redlock-demo locks 'invoices:*'
  redlock-demo locks --watch=2s                 # also: which are being renewed
  redlock-demo locks --json | jq -r '.locks[] | select(.verdict=="held") | .key'`

const (
	defaultShown  = 1000
	mostShown     = 1_000_000
	defaultSearch = 30 * time.Second
	minSearch     = 100 * time.Millisecond
	maxSearch     = time.Hour
)

// locksOptions are the flags of locks.
type locksOptions struct {
	*sharedFlags
	accessFlags
	watch   time.Duration // 0: one look
	timeout time.Duration
	limit   int
}

func newLocks(a *app, shared *sharedFlags) *cobra.Command {
	o := &locksOptions{sharedFlags: shared, timeout: defaultSearch, limit: defaultShown}
	cmd := &cobra.Command{
		Use:   "locks [flags] [PATTERN]",
		Short: "List the locks of all masters, and who holds them",
		Long: `locks searches all masters for locks whose keys match the pattern (of SCAN: *, ?
and [a-z]; without one all keys). It asks all masters together about each lock:
who holds it, on how many masters, and how long it has left. A lock is held by
the holder that a quorum of the masters names; a lock on fewer masters is shown
as such. Strings that expire and are of no client of this library are shown as
foreign: they may be locks of other Redlock clients.

It searches the masters at the same time, in steps of about 100 keys, with a
pause of 2 ms after each. A step keeps a master busy for some tenths of a
millisecond. If a master does not answer a step within a second, its search
ends. After --timeout it shows what was found by then. The last line says what
the search has cost. It changes nothing.

The masters do not know how old a lock is. With --watch it shows for how long
the hold was seen, and when it was renewed: that is when it ends later than at
the look before. The column fence is the highest fencing token that was given
for the key within the last day, to any holder.

Exit code: 0; 1 when not all was seen before --timeout; 69 when fewer masters
than a quorum were searched; 64 for a mistake in the arguments.`,
		Example: locksExamples,

		Annotations: map[string]string{heeds: "masters config json"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%d patterns: want one at the most, in quotes (see %s --help)", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runLocks(cmd, a, o, args) },
	}
	registerWatch(cmd, &o.watch)
	cmd.Flags().Var(&rangeFlag{p: &o.timeout, low: minSearch, high: maxSearch}, "timeout", "how long a search may take")
	cmd.Flags().Var(&numberFlag{&o.limit, 1, mostShown}, "limit", "show at most this many locks")
	o.accessFlags.register(cmd)
	return cmd
}

func runLocks(cmd *cobra.Command, a *app, o *locksOptions, args []string) error {
	if err := checkWatch(cmd, o.watch, "[PATTERN]", args); err != nil {
		return err
	}
	pattern := "*"
	if len(args) == 1 {
		pattern = args[0]
	}
	ctx := cmd.Context()
	masters, err := openLooker(cmd, a, o.sharedFlags, &o.accessFlags)
	if err != nil {
		return err
	}
	defer masters.close()
	v := newLocksView(a, o)
	return watching(ctx, o.watch, func() (int, error) {
		bounded, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		s, err := survey.Find(bounded, masters.queues.lines, masters.client, pattern)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, inspectionError(ctx, err)
		}
		return locksCode(s), v.show(s)
	})
}

// locksCode is the exit code of one look.
func locksCode(s *survey.Survey) int {
	switch {
	case s.Cut:
		return exitFailed
	case s.Searched() < quorum.Need(len(s.Masters)):
		return exitNoQuorum
	default:
		return exitOK
	}
}
