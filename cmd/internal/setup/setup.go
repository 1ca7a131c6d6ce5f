// Package setup is the command init, which declares masters a fleet.
package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

const initExamples = `  redlock init --masters redis://a,redis://b,redis://c
  redlock init --guard strict --max-ttl 30s
  # change it: they vote after the longest TTL
  redlock init --force --max-ttl 2m`

// initOptions are the flags of init.
type initOptions struct {
	*app.SharedFlags
	app.AccessFlags
	guard      string
	force, yes bool
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &initOptions{SharedFlags: shared, guard: "standard"}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Declare new masters a fleet, so that they vote at once",
		Long: `init gives every master the marker of a new fleet: how many masters there are,
the guard level and the longest TTL, on which all clients have to agree. Masters
that are declared new vote at once, for nobody can hold a lock on them yet. Do
so when masters are set up, never when a program starts.

It needs all masters, and refuses where one belongs to a fleet already. Masters
that were only adopted because they had no marker, and do not vote yet, may be
declared. While a master is away, a new fleet needs no init: it gives its first
lock when the longest TTL has passed since the first client came.

--force writes the markers anew, to change the settings. Then all masters
abstain until every lock granted before has expired. Stop the clients first, or
they find no master that votes for them.

At the end it says whether a lock can be taken now, and if not, until when.

Exit code: 0 when the fleet is as asked for, also if it was so before; 1 when a
master belongs to a fleet, 69 when one cannot be reached or is not fit to be
one, 64 for a mistake in the arguments or where --force is not confirmed.`,
		Example: initExamples,

		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd, a, o) },
	}
	shared.Register(cmd, app.SharedNames...)
	flags := cmd.Flags()
	flags.BoolVar(&o.force, "force", false, "replace markers that exist already; asks for confirmation")
	flags.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	app.RegisterChoice(cmd, "guard", "choice", &o.guard, []string{"standard", "strict"},
		"what a master has to prove before its vote counts: standard or strict; "+
			"all clients need the same level")
	o.AccessFlags.Register(cmd)
	return cmd
}

// Outcomes of an InitReport.
const (
	OutcomeDeclared = "declared"
	OutcomeAlready  = "already"
	OutcomeChanged  = "changed"
	OutcomeRefused  = "refused"
)

// An InitReport is what --json prints.
type InitReport struct {
	*observe.Verdict              // from afterwards; nil: not asked
	Outcome          string       `json:"outcome"`
	Error            string       `json:"error,omitempty"`
	Masters          []initMaster `json:"masters"`
	Level            string       `json:"level"`
	MaxTTLMS         int64        `json:"max_ttl_ms"`
	QuarantineMS     int64        `json:"quarantine_ms"` // after which changed masters vote
}

// An initMaster is one master, as it was before.
type initMaster struct {
	Address string `json:"master"`
	Error   string `json:"error,omitempty"`
	Marker  string `json:"marker,omitempty"` // "": none
}

func runInit(cmd *cobra.Command, a *app.App, o *initOptions) error {
	ctx := cmd.Context()
	fleet, err := observe.OpenFleet(cmd, a, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	defer fleet.Close()
	level := guard.Standard
	if o.guard == guard.Strict.String() {
		level = guard.Strict
	}
	wanted := observe.ConfigOf(guard.Config{Level: level}, len(fleet.Lines), o.MaxTTL, o.Skew)
	if level == guard.Strict && o.MaxTTL != 0 && o.MaxTTL < time.Second {
		return app.Usagef("--max-ttl %v: want 1s to 24h0m0s with --guard strict", o.MaxTTL)
	}
	if o.force && !o.yes && !a.AsksPerson() {
		return app.Usagef("--force asks for confirmation: want --yes where there is no terminal")
	}
	before := fleet.Look(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := newInitReport(before, wanted)
	err = o.initialize(ctx, a, fleet, before, wanted, r)
	if errors.As(err, new(*app.SignalError)) || errors.As(err, new(*app.UsageError)) {
		return err
	}
	if err != nil {
		r.Outcome, r.Error = OutcomeRefused, term.Redacted(err.Error())
	}
	r.Verdict = before.Verdict() // if nothing is written, it also holds afterwards
	if r.Outcome == OutcomeDeclared || r.Outcome == OutcomeChanged {
		r.Verdict = fleet.Verdict(ctx)
	}
	if o.JSON {
		return app.Report(a.Out, r, err)
	}
	return cmp.Or(r.print(a, wanted), err)
}

func newInitReport(look *observe.Look, wanted guard.Config) *InitReport {
	r := &InitReport{
		Level:        wanted.Level.String(),
		MaxTTLMS:     wanted.MaxTTL.Milliseconds(),
		QuarantineMS: wanted.Quarantine().Milliseconds(),
	}
	for i := range look.Facts {
		f := &look.Facts[i]
		row := initMaster{Address: f.Master}
		if err := unasked(look, i); err != nil {
			row.Error = term.Redacted(explain.Short(err))
		} else if isMarked(f) {
			row.Marker = observe.Settings(f.Marker.Fields)
		}
		r.Masters = append(r.Masters, row)
	}
	return r
}

// unasked returns why master i's marker is not known; nil: it is, or the client that declares
// the master will return why not.
func unasked(look *observe.Look, i int) error {
	f := &look.Facts[i]
	switch {
	case !f.Connected:
		return cmp.Or(f.Err, f.MarkerErr)
	case f.Marker.Verdict == guard.WrongType:
		return &guard.AbstainError{Cause: guard.NotOurs, Value: f.Marker.Type, Want: "hash"}
	case f.Info.RunID == "" && f.Marker.Version == "":
		return nil
	}
	return f.MarkerErr
}

// isMarked reports whether a master has a marker.
func isMarked(f *guard.Facts) bool {
	return f.Marker.Version != ""
}

// initialize declares the fleet, if all masters allow it.
func (o *initOptions) initialize(
	ctx context.Context, a *app.App, fleet *observe.Fleet, look *observe.Look, wanted guard.Config, r *InitReport,
) error {
	silent, marked, same := 0, 0, 0
	for i := range look.Facts {
		switch f := &look.Facts[i]; {
		case unasked(look, i) != nil:
			silent++
		case isMarked(f):
			if f.Marker.Matches(wanted) {
				same++
			}
			if !wanted.Replaceable(*f, look.At) {
				marked++
			}
		}
	}
	switch {
	case silent > 0:
		otherwise := ""
		if marked == 0 && !o.force {
			otherwise = fmt.Sprintf(". If the fleet is new and cannot wait: "+
				"without init it gives locks %v after the first client has come", wanted.Quarantine())
		}
		return app.EndsWith(app.ExitNoQuorum,
			fmt.Errorf("nothing was written: %s cannot be asked, and all are needed%s",
				term.Count(silent, "master"), otherwise))
	case same == len(look.Facts) && marked > 0 && !o.force:
		r.Outcome = OutcomeAlready
		return nil
	case marked > 0 && !o.force:
		return app.EndsWith(app.ExitFailed,
			fmt.Errorf("nothing was written: %s %s to a fleet already (--force changes it)",
				term.Count(marked, "master"), term.Does(marked, "belong")))
	}
	r.Outcome = OutcomeDeclared
	if o.force {
		r.Outcome = OutcomeChanged
	}
	if o.force && !o.yes {
		err := app.Confirm(ctx, a, "nothing was written", fmt.Sprintf("The fleet becomes: %v.", wanted),
			fmt.Sprintf("No master votes for the next %v, "+
				"and clients with other settings find none that does.", wanted.Quarantine()))
		if err != nil {
			return err
		}
	}
	opts := append(o.FleetOptions(o.guard), redlock.WithTTL(min(wanted.MaxTTL, time.Second)))
	client, err := redlock.New(fleet.Pool, opts...)
	if err != nil {
		return app.InFlags(err)
	}
	defer client.Close()
	declare := client.Init
	if o.force {
		declare = client.InitForce
	}
	err = declare(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return app.EndsWith(app.ExitNoQuorum, &explain.NoQuorumError{Err: err})
	}
	return nil
}

// print prints what happened to the masters.
func (r *InitReport) print(a *app.App, wanted guard.Config) error {
	var b bytes.Buffer
	rows := [][]string{{"master", "marker before"}}
	for _, m := range r.Masters {
		said := m.Marker
		switch {
		case m.Error != "":
			said = "✗ " + term.Visible(m.Error)
		case said == "":
			said = "none"
		}
		rows = append(rows, []string{m.Address, said})
	}
	l := term.LayoutFor(a.Out)
	l.Table(&b, term.Table{Rows: rows})
	said := map[string]string{
		OutcomeDeclared: fmt.Sprintf("declared a fleet of %v: it votes at once", wanted),
		OutcomeChanged:  fmt.Sprintf("changed to a fleet of %v: it votes in %v", wanted, wanted.Quarantine()),
		OutcomeAlready:  fmt.Sprintf("already a fleet of %v: nothing was written", wanted),
	}
	if text := said[r.Outcome]; text != "" {
		b.WriteByte('\n')
		l.Text(&b, "", 0, text)
	}
	if r.Verdict != nil {
		b.WriteByte('\n')
		observe.PrintVerdict(&b, l, r.Verdict)
	}
	return app.Emit(a.Out, &b)
}
