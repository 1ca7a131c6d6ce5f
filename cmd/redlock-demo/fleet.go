package main

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

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const fleetExamples = `  redlock-demo fleet close --masters redis://a,redis://b,redis://c --to redis://d,redis://e,redis://f
  redlock-demo fleet close --to shards-of-2027    # the name that clients give to WithMovedTo
  redlock-demo fleet close --to shards-of-2027    # again: for how much longer to wait`

// fleetCloseOptions are the flags of fleet close.
type fleetCloseOptions struct {
	*sharedFlags
	accessFlags
	guard, to string
}

// newFleet makes the command for what an operator does to a fleet as a whole. close is all
// that there is now.
func newFleet(a *app, shared *sharedFlags) *cobra.Command {
	o := &fleetCloseOptions{sharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "fleet close --to name|url,url,...",
		Short: "Close a fleet that is being moved to clients that use it alone",
		Long: `fleet close tells every master that its fleet is being moved. From then on
masters vote only for clients that take every lock in both fleets, and say so
(fleets.Moving, WithMovedTo). Other clients are refused, and learn where the
fleet goes. So a client that was forgotten cannot hold a lock beside those that
use only the new fleet.

Run it when all clients should take locks in both fleets. Let no client use only
the new fleet before this command says so. Run again, it says how much longer to
wait. docs/how-to/moving-a-fleet.md has all steps.

--to is the list of the new fleet's masters, or the name that clients have.

Exit code: 0 when the new fleet may be used alone now; 75 when the fleet is closed
and locks granted before may still be held; 69 when too few masters could be told, 64 for
a mistake in the arguments.`,
		Example:     fleetExamples,
		Annotations: map[string]string{heeds: "masters config max-ttl client-skew json"},
		ValidArgs:   []string{"close"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] != "close" {
				return usagef("the subcommand is missing: want %s", cmd.UseLine())
			}
			return noArguments(cmd, args[1:])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleetClose(cmd, a, o) },
	}
	cmd.Flags().StringVar(&o.to, "to", "", "the new fleet: comma-separated urls of its masters, or the `name` that clients give to WithMovedTo")
	registerGuard(cmd, &o.guard)
	o.accessFlags.register(cmd)
	return cmd
}

// A closingReport is what --json prints.
type closingReport struct {
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

func runFleetClose(cmd *cobra.Command, a *app, o *fleetCloseOptions) error {
	if o.to == "" {
		return usagef("--to is missing: want the new fleet's masters, or the name that clients give to WithMovedTo")
	}
	client, err := o.open(cmd, a, o.sharedFlags, append(guardOption(o.guard), redlock.WithTTL(shortTTL(o.maxTTL)))...)
	if err != nil {
		return err
	}
	defer client.Close()
	r := &closingReport{To: o.to, Closed: []string{}, MaxTTLMS: cmp.Or(o.maxTTL, defaultMaxTTL).Milliseconds()}
	settings := guard.Config{Level: guard.Standard, MaxTTL: cmp.Or(o.maxTTL, defaultMaxTTL), Drift: drift.Default, ClientSkew: o.skew}
	if o.guard == guard.Strict.String() {
		settings.Level = guard.Strict
	}
	r.QuarantineMS = settings.Quarantine().Milliseconds()
	found, err := o.close(cmd.Context(), client, r)
	switch {
	case cmd.Context().Err() != nil:
		return context.Cause(cmd.Context())
	case errors.As(err, new(*usageError)):
		return err
	case err != nil:
		r.Error = err.Error()
	case found.Left > 0:
		err = &codeError{code: exitBusy}
	}
	if o.json {
		return report(a.out, r, err)
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
func (o *fleetCloseOptions) close(ctx context.Context, client *redlock.Client, r *closingReport) (*redlock.FleetClosing, error) {
	to, err := o.destination(ctx)
	if err != nil {
		return nil, err
	}
	r.To = to
	found, err := client.CloseFleet(ctx, to)
	if found == nil {
		return nil, usagef("%s", strings.TrimPrefix(err.Error(), "redlock: "))
	}
	r.note(found)
	if err != nil {
		err = &codeError{exitNoQuorum, errors.New(strings.TrimPrefix(redacted(err.Error()), "redlock: "))}
	}
	return found, err
}

// shortTTL is a TTL that any fleet has room for; the command holds no lock.
func shortTTL(maxTTL time.Duration) time.Duration {
	if maxTTL == 0 {
		return time.Second
	}
	return min(maxTTL, time.Second)
}

// destination is the name of the move: as given, or the id that a quorum of the masters
// have that were given.
func (o *fleetCloseOptions) destination(ctx context.Context) (string, error) {
	if !strings.Contains(o.to, "://") {
		return o.to, nil
	}
	to, err := parseFleets("--to", []string{o.to})
	if err != nil {
		return "", err
	}
	urls := to[0].urls
	poolOpts, err := o.pool()
	if err != nil {
		return "", err
	}
	p, err := pool.New(urls, poolOpts...)
	if err != nil {
		return "", usagef("--to: %w", inFlags(err))
	}
	_ = p.Close()
	have, seen := map[string]int{}, 0
	for _, m := range readMarkers(ctx, urls, poolOpts) {
		if m.marker == nil || m.marker.Fields.Fleet == "" {
			continue
		}
		seen++
		if have[m.marker.Fields.Fleet]++; have[m.marker.Fields.Fleet] >= quorum.Need(len(urls)) {
			return m.marker.Fields.Fleet, nil
		}
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return "", &codeError{exitNoQuorum, fmt.Errorf("nothing was written: %d of %s of --to say which fleet they are of, and %d have to say the same: declare it first (redlock-demo init), or start them",
		seen, words.Count(len(urls), "master"), quorum.Need(len(urls)))}
}

// note takes over what was found.
func (r *closingReport) note(found *redlock.FleetClosing) {
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
			r.Open[node.Master] = redacted(node.Err.Error())
		}
	}
}

// print tells what the masters say now, and what may be done.
func (r *closingReport) print(a *app, found *redlock.FleetClosing) error {
	var b bytes.Buffer
	rows := [][]string{{"master", "is told"}}
	for _, master := range r.Closed {
		rows = append(rows, []string{master, "yes"})
	}
	for _, master := range slices.Sorted(maps.Keys(r.Open)) {
		rows = append(rows, []string{master, "✗ " + visible(r.Open[master])})
	}
	l := layoutFor(a.out)
	l.table(&b, table{rows, nil, func(row []string) string { return row[0] + ": " + row[1] }})
	b.WriteByte('\n')
	switch {
	case r.Error != "":
		l.text(&b, "", 0, "The fleet is not closed: run this again when more masters can be reached. Let no client use the new fleet alone.")
	case found.Left > 0:
		l.text(&b, "", 0, fmt.Sprintf("The fleet is closed to clients that use it alone. They may still hold locks until %s: use the new fleet alone no sooner.", words.Until(found.Until, found.Left)))
	default:
		l.text(&b, "", 0, "The fleet is closed, and no lock of before is left: clients may use the new fleet alone.")
	}
	if r.Error == "" && len(r.Open) > 0 {
		l.text(&b, "", 0, "The masters that were not told are told by clients when they come; they are too few to grant a lock.")
	}
	return emit(a.out, &b)
}
