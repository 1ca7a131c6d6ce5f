// Package doctor is the command that examines masters, and shows what was found.
package doctor

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

const doctorExamples = `  redlock doctor --masters redis://a,redis://b,redis://c
  # the longer, the better it knows the clocks
  redlock doctor --for 1m
  redlock doctor --user locks --password-file pw --key invoices:1
  redlock doctor --json | jq '.can_lock, .in_ms'
  redlock doctor --json \
      | jq -r '.findings[] | select(.severity == "serious") | .what'`

const (
	minExam     = 100 * time.Millisecond
	maxExam     = time.Hour
	defaultExam = 3 * time.Second
)

// ExitSerious is doctor's exit code for a serious finding, and while no lock can be taken. A
// warning gives app.ExitFailed.
const ExitSerious = 2

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	*app.SharedFlags
	app.AccessFlags
	exam time.Duration
	key  string
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &doctorOptions{SharedFlags: shared, exam: defaultExam}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the masters: what endangers locks on them, and what to do",
		Long: `doctor says whether a lock can be taken now, and if not, until when and
what helps. It asks every master what it is and how it is set up, measures round
trips and clocks for a while, and says what endangers locks, why, and what to do
about it. It looks for masters that are out of reach, the same server twice,
replicas, members of a Redis Cluster, Sentinels, eviction, missing persistence,
clocks that are off or were set, permissions that are missing (with the ACL line
that mends it), and markers that do not go together. It takes no lock and
declares no fleet. On a master without a marker it notes that, so that the
quarantine begins then.

INFO and CONFIG GET may be denied: then it says what it could not see. It cannot
see how other clients write the masters' addresses: write them all the same way,
or waiting calls do not meet in the same queues.

Exit code: 0 when there is nothing worse than a note, 1 with a warning, 2 when
no lock can be taken now or with another serious finding (locks are not safe),
64 for a mistake in the arguments.`,
		Example: doctorExamples,

		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, a, o) },
	}
	shared.Register(cmd, app.SharedNames...)
	flags := cmd.Flags()
	flags.Var(app.RangeFlag(&o.exam, minExam, maxExam), "for", "how long to measure round trips and clocks")
	flags.StringVar(&o.key, "key", "",
		"`name` of a lock for which to test the permissions; nobody may be using that lock "+
			"(default: no lock's key is asked for, only commands and the library's own keys)")
	o.AccessFlags.Register(cmd)
	return cmd
}

func runDoctor(cmd *cobra.Command, a *app.App, o *doctorOptions) error {
	if cmd.Flags().Changed("key") && o.key == "" {
		return app.Usagef("--key is empty: want the name of a lock")
	}
	fleet, err := observe.OpenFleet(cmd, a, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	defer fleet.Close()
	view := &doctorView{out: a.Out, live: a.Live(), wide: term.LayoutFor(a.Out)}
	view.Paint = term.Paint(view.live && a.Coloured())
	stop := func() {}
	if !o.JSON {
		stop = view.follow(o.exam)
	}
	look, facts, err := o.examine(cmd.Context(), fleet)
	stop()
	if err != nil {
		return err
	}
	verdict, findings := Judge(look, facts)
	for _, name := range o.OpenToAll(cmd.Context(), cmp.Or(o.Config, a.Env(app.ConfigVariable))) {
		findings = append(findings, Finding{ // last: no severity is lower
			Severity: Note, Code: "password-file", Masters: []string{},
			What: "every user of this machine may read " + name + ", in which a password is",
			Why:  "Who knows it can take and release every lock.",
			Do: "chmod o-r; nothing in a container that runs this job alone, " +
				"where secrets of Docker and Kubernetes are so.",
		})
	}
	report := NewReport(facts, verdict, findings)
	if o.JSON {
		err = app.WriteJSON(a.Out, report)
	} else {
		err = view.print(report)
	}
	if err != nil {
		return err
	}
	switch worst, found := Worst(findings); {
	case found && worst == Serious: // always so while no lock can be taken
		return &app.CodeError{Code: ExitSerious}
	case found && worst == Warning:
		return &app.CodeError{Code: app.ExitFailed}
	}
	return nil
}
