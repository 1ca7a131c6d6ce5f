package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/trouble"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const initExamples = `  redlock-demo init --masters redis://a,redis://b,redis://c
  redlock-demo init --guard strict --max-ttl 30s
  redlock-demo init --without c:6379 --yes    # c is down, and the fleet is new for certain
  redlock-demo init --force --max-ttl 2m      # change it: they vote after the longest TTL`

// defaultMaxTTL is the library's.
const defaultMaxTTL = time.Minute

// initOptions are the flags of init.
type initOptions struct {
	*sharedFlags
	accessFlags
	guard      string
	force, yes bool
	without    []string
}

func newInit(a *app, shared *sharedFlags) *cobra.Command {
	o := &initOptions{sharedFlags: shared, guard: "standard"}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Declare new masters a fleet, so that they vote at once",
		Long: `init gives every master the marker of a new fleet: how many masters there are,
the guard level and the longest TTL, on which all clients have to agree. Masters
that are declared new vote at once, for nobody can hold a lock on them yet. Do so
when masters are set up, never when a program starts.

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
master belongs to a fleet or answers though --without names it, 69 when one cannot
be reached or is not fit to be one, 64 for a mistake in the arguments or where
--force or --without is not confirmed.`,
		Example: initExamples,

		Annotations: map[string]string{heeds: "masters config max-ttl client-skew json"},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runInit(cmd, a, o) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.force, "force", false, "replace markers that exist already; asks for confirmation")
	flags.StringArrayVar(&o.without, "without", nil, "`host:port` of a master that is down, written as in --masters; may be given several times; asks for confirmation")
	flags.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	registerChoice(cmd, "guard", "choice", &o.guard, []string{"standard", "strict"}, "what a master has to prove before its vote counts: standard or strict; all clients need the same level")
	o.accessFlags.register(cmd)
	return cmd
}

// Outcomes of an initReport.
const (
	outcomeDeclared = "declared"
	outcomeAlready  = "already"
	outcomeChanged  = "changed"
	outcomeRefused  = "refused"
)

// An initReport is what --json prints.
type initReport struct {
	*doctor.Verdict              // of afterwards; nil: not asked
	Outcome         string       `json:"outcome"`
	Error           string       `json:"error,omitempty"`
	Masters         []initMaster `json:"masters"`
	Level           string       `json:"level"`
	MaxTTLMS        int64        `json:"max_ttl_ms"`
	QuarantineMS    int64        `json:"quarantine_ms"` // after which changed masters vote
}

// An initMaster is one master, as it was before.
type initMaster struct {
	Address string `json:"address"`
	Absent  bool   `json:"absent,omitempty"` // as --without says
	Error   string `json:"error,omitempty"`
	Marker  string `json:"marker,omitempty"` // "": none

	short string // Error in few words
}

func runInit(cmd *cobra.Command, a *app, o *initOptions) error {
	urls, err := o.namedMasters(cmd, a)
	if err != nil {
		return err
	}
	poolOpts, err := o.pool()
	if err != nil {
		return err
	}
	wanted := guard.Config{Level: guard.Standard, MaxTTL: o.maxTTL, Masters: len(urls), Drift: drift.Default, ClientSkew: o.skew}
	if o.guard == guard.Strict.String() {
		wanted.Level = guard.Strict
	}
	if wanted.MaxTTL == 0 {
		wanted.MaxTTL = defaultMaxTTL
	}
	absent, err := o.validate(urls, poolOpts)
	if err != nil {
		return err
	}
	if (o.force || absent != nil) && !o.yes && !a.asksPerson() {
		flag := "--force"
		if !o.force {
			flag = "--without"
		}
		return usagef("%s asks for confirmation: want --yes where there is no terminal", flag)
	}
	reads := readMarkers(cmd.Context(), urls, poolOpts)
	if cmd.Context().Err() != nil {
		return context.Cause(cmd.Context())
	}
	for i := range reads {
		reads[i].absent = slices.Contains(absent, reads[i].master)
	}
	r := newInitReport(reads, wanted)
	err = o.initialize(cmd, a, urls, reads, wanted, r)
	if errors.As(err, new(*signalError)) || errors.As(err, new(*usageError)) {
		return err
	}
	if err != nil {
		r.Outcome, r.Error = outcomeRefused, redacted(err.Error())
	}
	if options, optionsErr := verdictOptions(urls, &o.accessFlags); optionsErr == nil {
		r.Verdict, _ = doctor.CanLock(cmd.Context(), options, doctor.Client{MaxTTL: o.maxTTL, Skew: o.skew})
	}
	if o.json {
		return report(a.out, r, err)
	}
	return cmp.Or(r.print(a, wanted), err)
}

// validate checks what is given before anybody is asked, and gives the names of the
// masters that are absent.
func (o *initOptions) validate(urls []string, poolOpts []pool.Option) (absent []string, err error) {
	if o.guard == guard.Strict.String() && o.maxTTL != 0 && o.maxTTL < time.Second {
		return nil, usagef("--max-ttl %v: want 1s to 24h0m0s with --guard strict", o.maxTTL)
	}
	p, err := pool.New(urls, poolOpts...)
	if err != nil {
		return nil, inFlags(err)
	}
	defer func() { _ = p.Close() }()
	var names []string
	for _, m := range p.Masters() {
		names = append(names, m.Name())
	}
	for _, name := range o.without {
		if !slices.Contains(names, name) {
			return nil, usagef("--without %q: want one of the masters %s", name, strings.Join(names, ", "))
		}
		if !slices.Contains(absent, name) {
			absent = append(absent, name)
		}
	}
	if most := len(names) - quorum.Need(len(names)); len(absent) > most {
		return nil, usagef("--without names %d of %s: want %d at the most, so that a quorum is left", len(absent), words.Count(len(names), "master"), most)
	}
	return absent, nil
}

func newInitReport(reads []markerRead, wanted guard.Config) *initReport {
	r := &initReport{Level: wanted.Level.String(), MaxTTLMS: wanted.MaxTTL.Milliseconds(), QuarantineMS: wanted.Quarantine().Milliseconds()}
	for _, m := range reads {
		row := initMaster{Address: m.master, Absent: m.absent}
		switch {
		case m.err != nil:
			row.Error, row.short = redacted(m.err.Error()), redacted(trouble.Short(m.err))
		case m.marker != nil:
			row.Marker = m.marker.String()
		}
		r.Masters = append(r.Masters, row)
	}
	return r
}

// initialize declares the fleet, if nothing speaks against it.
func (o *initOptions) initialize(cmd *cobra.Command, a *app, urls []string, reads []markerRead, wanted guard.Config, r *initReport) error {
	silent, marked, same, present := 0, 0, 0, 0
	var absent, answer []string
	now := drift.System().Now()
	for i := range reads {
		m := &reads[i]
		if m.absent {
			absent = append(absent, m.master)
			// One that refuses our password is not absent either.
			if _, refuses := errors.AsType[*pool.ConfigError](m.err); m.err == nil || refuses {
				answer = append(answer, m.master)
			}
			continue
		}
		present++
		switch {
		case m.err != nil:
			silent++
		case m.marker == nil:
		default:
			if m.marker.Matches(wanted) {
				same++
			}
			if !m.replaceable(wanted, now) {
				marked++
			}
		}
	}
	switch {
	case answer != nil:
		return &codeError{exitFailed, fmt.Errorf("nothing was written: --without names %s, which can be reached: want masters that are absent", strings.Join(answer, ", "))}
	case silent > 0:
		return &codeError{exitNoQuorum, fmt.Errorf("nothing was written: %s cannot be asked, and all are needed%s", words.Count(silent, "master"), butFor(absent))}
	case same == present && marked > 0 && !o.force:
		r.Outcome = outcomeAlready
		return nil
	case marked > 0 && !o.force:
		return &codeError{exitFailed, fmt.Errorf("nothing was written: %s to a fleet already (--force changes it)", belong(marked))}
	}
	r.Outcome = outcomeDeclared
	var opts []redlock.InitOption
	if o.force {
		opts, r.Outcome = append(opts, redlock.ForceInit()), outcomeChanged
	}
	if absent != nil {
		opts = append(opts, redlock.InitWithout(absent...))
	}
	if o.force || absent != nil {
		if err := o.confirm(cmd.Context(), a, wanted, time.Duration(r.QuarantineMS)*time.Millisecond, absent); err != nil {
			return err
		}
	}
	client, err := o.open(cmd, a, o.sharedFlags, redlock.WithGuard(guardLevels[o.guard]), redlock.WithTTL(min(wanted.MaxTTL, time.Second)))
	if err != nil {
		return err
	}
	defer client.Close()
	err = client.Init(cmd.Context(), opts...)
	switch {
	case cmd.Context().Err() != nil:
		return context.Cause(cmd.Context())
	case err != nil:
		return &codeError{exitNoQuorum, errors.New(strings.TrimPrefix(err.Error(), "redlock: "))}
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
func (o *initOptions) confirm(ctx context.Context, a *app, wanted guard.Config, quarantine time.Duration, absent []string) error {
	if o.yes {
		return nil
	}
	var b bytes.Buffer
	line := func(format string, args ...any) { layoutFor(os.Stderr).text(&b, "", 0, fmt.Sprintf(format, args...)) }
	line("The fleet becomes: %v.", wanted)
	if absent != nil {
		line("These masters are absent, and are taken for new ones: %s.", strings.Join(absent, ", "))
	}
	if o.force {
		line("No master votes for the next %v, and clients with other settings find none that does.", quarantine)
	} else {
		line("The others vote at once. If the fleet is not new, somebody may hold a lock on it, and another be granted the same one.")
	}
	yes, err := confirmed(ctx, a, b.String())
	if err == nil && !yes {
		err = usagef("not confirmed: nothing was written")
	}
	return err
}

// print tells what has become of the masters.
func (r *initReport) print(a *app, wanted guard.Config) error {
	var b bytes.Buffer
	rows := [][]string{{"master", "marker before"}}
	for _, m := range r.Masters {
		said := m.Marker
		switch {
		case m.Absent && m.Error != "":
			said = "absent"
		case m.Error != "":
			said = "✗ " + visible(m.short)
		case said == "":
			said = "none"
		}
		rows = append(rows, []string{m.Address, said})
	}
	l := layoutFor(a.out)
	l.table(&b, table{rows, nil, func(row []string) string { return row[0] + ": " + row[1] }})
	quarantine := time.Duration(r.QuarantineMS) * time.Millisecond
	switch r.Outcome {
	case outcomeDeclared:
		b.WriteByte('\n')
		l.text(&b, "", 0, fmt.Sprintf("declared a fleet of %v: it votes at once", wanted))
		for _, m := range r.Masters {
			if m.Absent {
				l.text(&b, "", 0, fmt.Sprintf("%s is absent: it votes %v after it has come", m.Address, quarantine))
			}
		}
	case outcomeChanged:
		b.WriteByte('\n')
		l.text(&b, "", 0, fmt.Sprintf("changed to a fleet of %v: it votes in %v", wanted, quarantine))
	case outcomeAlready:
		b.WriteByte('\n')
		l.text(&b, "", 0, fmt.Sprintf("already a fleet of %v: nothing was written", wanted))
	}
	if r.Verdict != nil {
		b.WriteByte('\n')
		printVerdict(&b, l, r.Verdict)
	}
	return emit(a.out, &b)
}
