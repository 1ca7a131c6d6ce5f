// Package fleet is the commands about a fleet as a whole: close.
package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
)

const fleetExamples = `  redlock fleet close --masters redis://a,redis://b,redis://c \
      --to redis://d,redis://e,redis://f
  # the name that clients give to WithMovedTo
  redlock fleet close --to shards-of-2027
  # again: for how much longer to wait
  redlock fleet close --to shards-of-2027`

// fleetCloseOptions are the flags of fleet close.
type fleetCloseOptions struct {
	*app.SharedFlags
	app.AccessFlags
	guard, to string
	force     bool
}

// newFleet makes the command for what an operator does to a fleet as a whole. close is all
// that there is now.
func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &fleetCloseOptions{SharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "fleet close --to name|url,url,...",
		Short: "Close a fleet that is being moved to clients that use it alone",
		Long: `fleet close tells every master that its fleet is being moved. From then on
masters vote only for clients that take every lock in both fleets, and say so
(fleets.Moving, WithMovedTo). Other clients are refused, and learn where the
fleet goes. So a client that was forgotten cannot hold a lock beside those that
use only the new fleet.

A fleet that is being moved elsewhere already is refused; --force closes it for
this move instead.

Run it when all clients should take locks in both fleets. Let no client use only
the new fleet before this command says so. Run again, it says how much longer to
wait. docs/how-to/moving-a-fleet.md has all steps.

--to is the list of the new fleet's masters, or the name that clients have.

Exit code: 0 when the new fleet may be used alone now; 75 when the fleet is
closed and locks granted before may still be held; 69 when too few masters could
be told, 64 for a mistake in the arguments.`,
		Example:   fleetExamples,
		ValidArgs: []string{"close"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] != "close" {
				return app.Usagef("the subcommand is missing: want %s", cmd.UseLine())
			}
			return app.NoArguments(cmd, args[1:])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleetClose(cmd, a, o) },
	}
	shared.Register(cmd, app.SharedNames...)
	cmd.Flags().StringVar(&o.to, "to", "", "the new fleet: comma-separated urls of its masters, or the `name` that clients give to WithMovedTo")
	cmd.Flags().BoolVar(&o.force, "force", false, "close a fleet that is being moved elsewhere already")
	app.RegisterGuard(cmd, &o.guard)
	o.AccessFlags.Register(cmd)
	return cmd
}

// A ClosingReport is what --json prints.
type ClosingReport struct {
	Fleet  string   `json:"fleet"`
	To     string   `json:"to"`
	Closed []string `json:"closed"`
	// Open are the masters that do not say so, and why.
	Open   map[string]string `json:"open,omitempty"`
	Error  string            `json:"error,omitempty"`
	LeftMS int64             `json:"left_ms"` // until the new fleet may be used alone
	Until  *time.Time        `json:"until,omitempty"`

	MaxTTLMS     int64 `json:"max_ttl_ms"`
	QuarantineMS int64 `json:"quarantine_ms"` // for how long to wait once all masters are told
}

func runFleetClose(cmd *cobra.Command, a *app.App, o *fleetCloseOptions) error {
	if o.to == "" {
		return app.Usagef("--to is missing: want the new fleet's masters, or the name that clients give to WithMovedTo")
	}
	urls, err := o.NamedMasters(cmd, a)
	if err != nil {
		return err
	}
	client, err := o.OpenURLs(urls, o.SharedFlags, append(app.GuardOption(o.guard), redlock.WithTTL(min(cmp.Or(o.MaxTTL, time.Second), time.Second)))...)
	if err != nil {
		return err
	}
	defer client.Close()
	r := &ClosingReport{To: o.to, Closed: []string{}, MaxTTLMS: cmp.Or(o.MaxTTL, app.DefaultMaxTTL).Milliseconds()}
	r.QuarantineMS = observe.ConfigOf(guard.Config{Level: observe.LevelOf(o.guard)}, 0, o.MaxTTL, o.Skew).Quarantine().Milliseconds()
	found, err := o.close(cmd.Context(), client, r)
	switch {
	case cmd.Context().Err() != nil:
		return context.Cause(cmd.Context())
	case errors.As(err, new(*app.UsageError)):
		return err
	case err != nil:
		r.Error = term.Redacted(err.Error())
	case found.Left > 0:
		err = &app.CodeError{Code: app.ExitBusy}
	}
	if o.JSON {
		return app.Report(a.Out, r, err)
	}
	if found != nil {
		if writeErr := r.print(a, found); writeErr != nil {
			return writeErr
		}
	}
	return err
}

// close tells the masters, and notes in the report what has become of them. Without a
// FleetClosing nothing was written.
func (o *fleetCloseOptions) close(ctx context.Context, client *redlock.Client, r *ClosingReport) (*redlock.FleetClosing, error) {
	to, err := o.destination(ctx)
	if err != nil {
		return nil, err
	}
	r.To = to
	closing, err := fleetseam.ClientOf(client).CloseFleet(ctx, to, o.force)
	found := closing.(*redlock.FleetClosing)
	if found == nil {
		return nil, app.Usagef("%s", strings.TrimPrefix(err.Error(), "redlock: "))
	}
	r.note(found)
	if err != nil {
		err = app.EndsWith(app.ExitNoQuorum, &say.NoQuorumError{Err: err})
	}
	return found, err
}

// destination is the name of the move: as given, or the id that a quorum of the masters
// have that were given.
func (o *fleetCloseOptions) destination(ctx context.Context) (string, error) {
	if !strings.Contains(o.to, "://") {
		return o.to, nil
	}
	to, err := app.ParseFleets("--to", []string{o.to})
	if err != nil {
		return "", err
	}
	fleet, err := observe.NewFleet(to[0].Urls, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return "", app.Usagef("--to: %w", err)
	}
	defer fleet.Close()
	have, seen, id, need := map[string]int{}, 0, "", quorum.Need(len(fleet.Lines))
	for _, f := range fleet.Look(ctx).Facts {
		m := f.Marker
		switch {
		case m.Fleet == "":
			continue
		case m.To != "":
			return "", app.Usagef("--to: that fleet is being moved itself, to %q: want the fleet that clients are to use in the end; open it again first (redlock init --force), or give the name of a move (WithMovedTo)", m.To)
		}
		seen++
		if have[m.Fleet]++; have[m.Fleet] >= need {
			id = m.Fleet
		}
	}
	if id != "" {
		return id, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return "", app.EndsWith(app.ExitNoQuorum, fmt.Errorf("nothing was written: %d of %s of --to say which fleet they are of, and %d have to say the same: declare it first (redlock init), or see that they answer",
		seen, term.Count(len(fleet.Lines), "master"), need))
}

// note takes over what was found.
func (r *ClosingReport) note(found *redlock.FleetClosing) {
	r.Fleet, r.LeftMS = found.Fleet, found.Left.Milliseconds()
	r.Closed = append(r.Closed, found.Closed...)
	if found.Left > 0 {
		r.Until = &found.Until
	}
	if found.Open == nil {
		return
	}
	r.Open = make(map[string]string)
	for _, err := range found.Open.Errors {
		if node, ok := errors.AsType[*redlock.NodeError](err); ok {
			r.Open[node.Master] = term.Redacted(say.Short(node.Err))
		}
	}
}

// print tells what the masters say now, and what may be done.
func (r *ClosingReport) print(a *app.App, found *redlock.FleetClosing) error {
	var b bytes.Buffer
	rows := [][]string{{"master", "is told"}}
	for _, master := range r.Closed {
		rows = append(rows, []string{master, "yes"})
	}
	for _, master := range slices.Sorted(maps.Keys(r.Open)) {
		rows = append(rows, []string{master, "✗ " + term.Visible(r.Open[master])})
	}
	l := term.LayoutFor(a.Out)
	l.Table(&b, term.Table{Rows: rows})
	b.WriteByte('\n')
	switch {
	case r.Error != "":
		l.Text(&b, "", 0, "The fleet is not closed: run this again when that is mended. Let no client use the new fleet alone.")
	case found.Left > 0:
		l.Text(&b, "", 0, fmt.Sprintf("The fleet is closed to clients that use it alone. They may still hold locks until %s: use the new fleet alone no sooner.", term.Until(found.Until, found.Left)))
	default:
		l.Text(&b, "", 0, "The fleet is closed, and no lock of before is left: clients may use the new fleet alone.")
	}
	if r.Error == "" && len(r.Open) > 0 {
		l.Text(&b, "", 0, "The masters that were not told are told by clients when they come; they are too few to grant a lock.")
	}
	return app.Emit(a.Out, &b)
}
