// Package locks is the command that lists the locks of all masters.
package locks

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/quorum"
)

const locksExamples = `  redlock locks
  redlock locks 'invoices:*'
  redlock locks --watch=2s
  redlock locks --json | jq -r '.locks[] | select(.verdict=="held") | .key'`

const (
	mostShown     = 1000 // for people; --json has all
	defaultSearch = 30 * time.Second
	minSearch     = 100 * time.Millisecond
	maxSearch     = time.Hour
)

// locksOptions are the flags of locks.
type locksOptions struct {
	*app.SharedFlags
	app.AccessFlags
	watch   time.Duration // 0: one look
	timeout time.Duration
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &locksOptions{SharedFlags: shared, timeout: defaultSearch}
	cmd := &cobra.Command{
		Use:   "locks [flags] [PATTERN]",
		Short: "List the locks of all masters, and who holds them",
		Long: `locks searches all masters for locks whose keys match the pattern (of SCAN: *, ?
and [a-z]; without one all keys). It asks all masters together about each lock:
who holds it, on how many masters, and how long it has left. A lock is held by
the holder that a quorum of the masters names; a lock on fewer masters is shown
as such. Strings that expire and are of no client of this library are shown as
foreign: they may be locks of other Redlock clients. A key that never expires,
or is no lock, is shown as stuck where the pattern is its name, or somebody
waits for it.

It searches the masters at the same time, in steps of about 100 keys, with a
pause of 2 ms after each. A step keeps a master busy for some tenths of a
millisecond. If a master does not answer a step within a second, its search
ends. After --for it shows what was found by then. The last line says what the
search has cost. It changes nothing.

The masters do not know how old a lock is, or whether it is renewed. The column
fence is the highest fencing token that was given for the key within the last
day, to any holder.

Exit code: 0; 1 when not all was seen before --for; 69 when fewer masters than a
quorum were searched; 64 for a mistake in the arguments.`,
		Example: locksExamples,

		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return app.Usagef("%d patterns: want one at the most, in quotes (see %s --help)",
					len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runLocks(cmd, a, o, args) },
	}
	shared.Register(cmd, "masters", "config", "json")
	app.RegisterWatch(cmd, &o.watch)
	cmd.Flags().Var(app.RangeFlag(&o.timeout, minSearch, maxSearch), "for", "how long a search may take")
	o.AccessFlags.Register(cmd)
	return cmd
}

func runLocks(cmd *cobra.Command, a *app.App, o *locksOptions, args []string) error {
	if err := app.CheckWatch(cmd, o.watch, "[PATTERN]", args); err != nil {
		return err
	}
	pattern := "*"
	if len(args) == 1 {
		pattern = args[0]
	}
	ctx := cmd.Context()
	fleet, err := observe.OpenFleet(cmd, a, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	defer fleet.Close()
	v := newLocksView(a, o)
	return app.Watching(ctx, o.watch, func() (int, error) {
		bounded, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		s, err := Find(bounded, fleet.Lines, fleet.Client, pattern)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, app.InspectionError(ctx, err)
		}
		return locksCode(s), v.show(s)
	})
}

// locksCode is the exit code of one look.
func locksCode(s *Survey) int {
	switch {
	case s.Cut:
		return app.ExitFailed
	case s.Searched() < quorum.Need(len(s.Masters)):
		return app.ExitNoQuorum
	default:
		return app.ExitOK
	}
}

// A LocksDocument is what --json prints of a look.
type LocksDocument struct {
	Locks []lockRow `json:"locks"`
	lockSums
	Complete bool     `json:"complete"` // all keys of the masters that were searched were seen
	Masters  []Search `json:"masters"`
	TookMS   int64    `json:"took_ms"`
}

type lockRow struct {
	Key     string         `json:"key"`
	Bytes   []byte         `json:"key_base64,omitempty"` // of a key that is not UTF-8; key has it as printed
	Kind    string         `json:"kind"`                 // lock, readers, foreign, mixed or stuck
	Verdict string         `json:"verdict"`              // as in status
	Need    int            `json:"need"`                 // masters that make a quorum
	Holders []explain.Hold `json:"holders"`              // those on most masters first, 10 at the most
	Readers int            `json:"readers,omitempty"`
	Waiting *int           `json:"waiting"` // null: not known
	Fence   uint64         `json:"fence,omitempty"`
}

// listedHolders is how many holders of a lock --json lists.
const listedHolders = 10

func document(s *Survey) *LocksDocument {
	d := &LocksDocument{
		Locks:    []lockRow{},
		lockSums: sumsOf(s),
		Complete: !s.Cut,
		Masters:  s.Masters,
		TookMS:   s.Took.Milliseconds(),
	}
	for i := range s.Locks {
		d.Locks = append(d.Locks, documentRow(&s.Locks[i]))
	}
	return d
}

func documentRow(l *Lock) lockRow {
	row := lockRow{
		Key:     l.Key,
		Kind:    string(l.Kind),
		Verdict: explain.VerdictNames[l.Verdict],
		Need:    l.Need,
		Readers: l.Readers,
		Fence:   l.Fence,
	}
	if !utf8.ValidString(l.Key) {
		row.Key, row.Bytes = term.Visible(l.Key), []byte(l.Key)
	}
	if l.Waiting >= 0 {
		row.Waiting = &l.Waiting
	}
	for i := range l.Holders[:min(listedHolders, len(l.Holders))] {
		row.Holders = append(row.Holders, explain.HoldOf(&l.Holders[i]))
	}
	return row
}
