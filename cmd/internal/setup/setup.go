// Package setup is the command init, which declares masters a fleet.
package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const initExamples = `  redlock init --masters redis://a,redis://b,redis://c
  redlock init --guard strict --max-ttl 30s
  # c is down, and the fleet is new for certain
  redlock init --without c:6379 --yes
  # change it: they vote after the longest TTL
  redlock init --force --max-ttl 2m`

// initOptions are the flags of init.
type initOptions struct {
	*app.SharedFlags
	app.AccessFlags
	guard      string
	force, yes bool
	without    []string
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
declared.

--without names a master that is absent, so that the others can be declared. It
has to be out of reach, and at the most a minority may be absent. The others
vote at once. The absent master votes after the longest TTL, when it comes. If
it comes with a marker of its own, the fleet was not new, and the others lose
their vote for as long. Only you can know that the fleet is new, so init asks
for confirmation.

--force writes the markers anew, to change the settings. Then all masters
abstain until every lock granted before has expired. Stop the clients first, or
they find no master that votes for them.

At the end it says whether a lock can be taken now, and if not, until when.

Exit code: 0 when the fleet is as asked for, also if it was so before; 1 when a
master belongs to a fleet or answers though --without names it, 69 when one
cannot be reached or is not fit to be one, 64 for a mistake in the arguments or
where --force or --without is not confirmed.`,
		Example: initExamples,

		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd, a, o) },
	}
	shared.Register(cmd, app.SharedNames...)
	flags := cmd.Flags()
	flags.BoolVar(&o.force, "force", false, "replace markers that exist already; asks for confirmation")
	flags.StringArrayVar(&o.without, "without", nil, "`host:port` of a master that is down, written as in --masters; may be given several times; asks for confirmation")
	flags.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	app.RegisterChoice(cmd, "guard", "choice", &o.guard, []string{"standard", "strict"}, "what a master has to prove before its vote counts: standard or strict; all clients need the same level")
	o.AccessFlags.Register(cmd)
	return cmd
}

// Outcomes of an initReport.
const (
	OutcomeDeclared = "declared"
	OutcomeAlready  = "already"
	OutcomeChanged  = "changed"
	OutcomeRefused  = "refused"
)

// An InitReport is what --json prints.
type InitReport struct {
	*observe.Verdict              // of afterwards; nil: not asked
	Outcome          string       `json:"outcome"`
	Error            string       `json:"error,omitempty"`
	Masters          []initMaster `json:"masters"`
	Level            string       `json:"level"`
	MaxTTLMS         int64        `json:"max_ttl_ms"`
	QuarantineMS     int64        `json:"quarantine_ms"` // after which changed masters vote
}

// An initMaster is one master, as it was before.
type initMaster struct {
	Address string `json:"address"`
	Absent  bool   `json:"absent,omitempty"` // as --without says
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
	wanted := observe.ConfigOf(guard.Config{Level: observe.LevelOf(o.guard)}, len(fleet.Lines), o.MaxTTL, o.Skew)
	absent, err := o.validate(fleet)
	if err != nil {
		return err
	}
	if (o.force || absent != nil) && !o.yes && !a.AsksPerson() {
		flag := "--force"
		if !o.force {
			flag = "--without"
		}
		return app.Usagef("%s asks for confirmation: want --yes where there is no terminal", flag)
	}
	before := fleet.Look(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := newInitReport(before, wanted, absent)
	err = o.initialize(ctx, a, fleet, before, wanted, r)
	if errors.As(err, new(*app.SignalError)) || errors.As(err, new(*app.UsageError)) {
		return err
	}
	if err != nil {
		r.Outcome, r.Error = OutcomeRefused, term.Redacted(err.Error())
	}
	r.Verdict = before.Verdict() // which is that of afterwards where nothing is written
	if r.Outcome == OutcomeDeclared || r.Outcome == OutcomeChanged {
		r.Verdict = fleet.Verdict(ctx)
	}
	if o.JSON {
		return app.Report(a.Out, r, err)
	}
	return cmp.Or(r.print(a, wanted), err)
}

// validate checks what is given before anybody is asked, and gives the names of the
// masters that are absent.
func (o *initOptions) validate(fleet *observe.Fleet) (absent []string, err error) {
	if o.guard == guard.Strict.String() && o.MaxTTL != 0 && o.MaxTTL < time.Second {
		return nil, app.Usagef("--max-ttl %v: want 1s to 24h0m0s with --guard strict", o.MaxTTL)
	}
	var names []string
	for _, m := range fleet.Lines {
		names = append(names, m.Name())
	}
	for _, name := range o.without {
		if !slices.Contains(names, name) {
			return nil, app.Usagef("--without %q: want one of the masters %s", name, strings.Join(names, ", "))
		}
		if !slices.Contains(absent, name) {
			absent = append(absent, name)
		}
	}
	if most := len(names) - quorum.Need(len(names)); len(absent) > most {
		return nil, app.Usagef("--without names %d of %s: want %d at the most, so that a quorum is left", len(absent), term.Count(len(names), "master"), most)
	}
	return absent, nil
}

func newInitReport(look *observe.Look, wanted guard.Config, absent []string) *InitReport {
	r := &InitReport{Level: wanted.Level.String(), MaxTTLMS: wanted.MaxTTL.Milliseconds(), QuarantineMS: wanted.Quarantine().Milliseconds()}
	for i := range look.Facts {
		f := &look.Facts[i]
		row := initMaster{Address: f.Master, Absent: slices.Contains(absent, f.Master)}
		if err := unasked(look, i); err != nil {
			row.Error = term.Redacted(say.Short(err))
		} else if isMarked(f) {
			row.Marker = observe.Settings(f.Marker.Fields)
		}
		r.Masters = append(r.Masters, row)
	}
	return r
}

// unasked is why master i does not say what its marker is; nil: it does, or the client that declares it will say why not.
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
	return f.Marker.Version != "" && f.Marker.Verdict != guard.Created
}

// initialize declares the fleet, if nothing speaks against it.
func (o *initOptions) initialize(ctx context.Context, a *app.App, fleet *observe.Fleet, look *observe.Look, wanted guard.Config, r *InitReport) error {
	silent, marked, same, present := 0, 0, 0, 0
	var absent, answer []string
	for i := range look.Facts {
		f, err := &look.Facts[i], unasked(look, i)
		if r.Masters[i].Absent {
			absent = append(absent, f.Master)
			// One that refuses our password is not absent either.
			if _, refuses := errors.AsType[*pool.ConfigError](err); err == nil || refuses {
				answer = append(answer, f.Master)
			}
			continue
		}
		present++
		switch {
		case err != nil:
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
	case answer != nil:
		return app.EndsWith(app.ExitFailed, fmt.Errorf("nothing was written: --without names %s, which can be reached: want masters that are absent", strings.Join(answer, ", ")))
	case silent > 0:
		return app.EndsWith(app.ExitNoQuorum, fmt.Errorf("nothing was written: %s cannot be asked, and all are needed%s", term.Count(silent, "master"), butFor(absent)))
	case same == present && marked > 0 && !o.force:
		r.Outcome = OutcomeAlready
		return nil
	case marked > 0 && !o.force:
		return app.EndsWith(app.ExitFailed, fmt.Errorf("nothing was written: %s to a fleet already (--force changes it)", belong(marked)))
	}
	r.Outcome = OutcomeDeclared
	var opts []redlock.InitOption
	if o.force {
		opts, r.Outcome = append(opts, redlock.ForceInit()), OutcomeChanged
	}
	if absent != nil {
		opts = append(opts, redlock.InitWithout(absent...))
	}
	if o.force || absent != nil {
		if err := o.confirm(ctx, a, wanted, time.Duration(r.QuarantineMS)*time.Millisecond, absent); err != nil {
			return err
		}
	}
	client, err := redlock.New(fleet.Pool, append(o.FleetOptions(o.guard), redlock.WithTTL(min(wanted.MaxTTL, time.Second)))...)
	if err != nil {
		return app.InFlags(err)
	}
	defer client.Close()
	err = client.Init(ctx, opts...)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return app.EndsWith(app.ExitNoQuorum, &say.NoQuorumError{Err: err})
	}
	return nil
}

// butFor is that some are not needed.
func butFor(absent []string) string {
	if absent == nil {
		return ""
	}
	return " but " + strings.Join(absent, ", ")
}

func belong(n int) string {
	if n == 1 {
		return "1 master belongs"
	}
	return fmt.Sprintf("%d masters belong", n)
}

// confirm asks whoever sits at the terminal.
func (o *initOptions) confirm(ctx context.Context, a *app.App, wanted guard.Config, quarantine time.Duration, absent []string) error {
	if o.yes {
		return nil
	}
	told := []string{fmt.Sprintf("The fleet becomes: %v.", wanted)}
	if absent != nil {
		told = append(told, fmt.Sprintf("These masters are absent, and are taken for new ones: %s.", strings.Join(absent, ", ")))
	}
	if o.force {
		told = append(told, fmt.Sprintf("No master votes for the next %v, and clients with other settings find none that does.", quarantine))
	} else {
		told = append(told, "The others vote at once. If the fleet is not new, somebody may hold a lock on it, and another be granted the same one.")
	}
	yes, err := app.Confirmed(ctx, a, told...)
	if err == nil && !yes {
		err = app.Usagef("not confirmed: nothing was written")
	}
	return err
}

// print tells what has become of the masters.
func (r *InitReport) print(a *app.App, wanted guard.Config) error {
	var b bytes.Buffer
	rows := [][]string{{"master", "marker before"}}
	for _, m := range r.Masters {
		said := m.Marker
		switch {
		case m.Absent && m.Error != "":
			said = "absent"
		case m.Error != "":
			said = "✗ " + term.Visible(m.Error)
		case said == "":
			said = "none"
		}
		rows = append(rows, []string{m.Address, said})
	}
	l := term.LayoutFor(a.Out)
	l.Table(&b, term.Table{Rows: rows})
	quarantine := time.Duration(r.QuarantineMS) * time.Millisecond
	switch r.Outcome {
	case OutcomeDeclared:
		b.WriteByte('\n')
		l.Text(&b, "", 0, fmt.Sprintf("declared a fleet of %v: it votes at once", wanted))
		for _, m := range r.Masters {
			if m.Absent {
				l.Text(&b, "", 0, fmt.Sprintf("%s is absent: it votes %v after it has come", m.Address, quarantine))
			}
		}
	case OutcomeChanged:
		b.WriteByte('\n')
		l.Text(&b, "", 0, fmt.Sprintf("changed to a fleet of %v: it votes in %v", wanted, quarantine))
	case OutcomeAlready:
		b.WriteByte('\n')
		l.Text(&b, "", 0, fmt.Sprintf("already a fleet of %v: nothing was written", wanted))
	}
	if r.Verdict != nil {
		b.WriteByte('\n')
		observe.PrintVerdict(&b, l, r.Verdict)
	}
	return app.Emit(a.Out, &b)
}
