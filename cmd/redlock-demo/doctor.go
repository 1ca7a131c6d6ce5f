package main

import (
	"bytes"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
)

const doctorExamples = `  redlock-demo doctor --masters redis://a,redis://b,redis://c
  redlock-demo doctor --for 1m                  # the longer, the better it knows the clocks
  redlock-demo doctor --user locks --password-file pw --key invoices:1
  redlock-demo doctor --json | jq '.can_lock, .in_ms'
  redlock-demo doctor --json | jq -r '.findings[] | select(.severity == "serious") | .what'`

const (
	minExam     = 100 * time.Millisecond
	maxExam     = time.Hour
	defaultExam = 3 * time.Second
)

// exitSerious is doctor's code for a serious finding, and while no lock can be
// taken; exitFailed is that for a warning.
const exitSerious = 2

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	*sharedFlags
	accessFlags
	exam time.Duration
	key  string
}

func newDoctor(a *app, shared *sharedFlags) *cobra.Command {
	o := &doctorOptions{sharedFlags: shared, exam: defaultExam}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the masters: what endangers locks on them, and what to do",
		Long: `doctor says first whether a lock can be taken now, and if not, until when and
what helps. It asks every master what it is and how it is set up, measures round
trips and clocks for a while, and says what endangers locks, why, and what to do
about it. It looks for masters that are out of reach, the same server twice,
replicas, members of a Redis Cluster, Sentinels, eviction, missing persistence,
clocks that are off, were set or run unevenly, permissions that are missing (with
the ACL line that mends it), certificates that expire, and markers that do not go
together. It takes no lock and declares no fleet. On a master without a marker it
notes that, so that the quarantine begins then.

With several fleets (--masters NAME=url,url,... for each) it examines each, and
then whether they share what must be apart. The worst verdict comes last.

INFO and CONFIG GET may be denied: then it says what it could not see.

Exit code: 0 when there is nothing worse than a note, 1 with a warning, 2 when no
lock can be taken now or with another serious finding (locks are not safe), 64 for
a mistake in the arguments.`,
		Example: doctorExamples,

		Annotations: map[string]string{several: "", heeds: "masters config max-ttl client-skew json no-color"},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, a, o) },
	}
	flags := cmd.Flags()
	flags.Var(rangeFlag(&o.exam, minExam, maxExam), "for", "how long to measure round trips and clocks")
	flags.StringVar(&o.key, "key", "", "`name` of a lock for which to test the permissions; nobody may be using that lock (default a name of doctor's own)")
	o.accessFlags.register(cmd)
	return cmd
}

func runDoctor(cmd *cobra.Command, a *app, o *doctorOptions) error {
	if cmd.Flags().Changed("key") && o.key == "" {
		return usagef("--key is empty: want the name of a lock")
	}
	list, err := o.namedFleets(cmd, a)
	if err != nil {
		return err
	}
	options, err := o.optionsFor(list)
	if err != nil {
		return err
	}
	view := &doctorView{out: a.out, live: !o.json && a.live()}
	view.colour = view.live && o.coloured(a)
	view.width = layoutFor(a.out).columns
	stop := view.follow(o.exam)
	found, err := o.examine(cmd.Context(), list, options)
	stop()
	if err != nil {
		if cmd.Context().Err() != nil {
			return err
		}
		return inFlags(err)
	}
	if len(list) == 1 {
		err = o.show(a, view, found.Fleets[0].Report)
	} else {
		err = o.showFleets(a, view, found)
	}
	if err != nil {
		return err
	}
	switch worst, found := doctor.Worst(found.all()); {
	case found && worst == doctor.Serious: // as while no lock can be taken
		return &codeError{code: exitSerious}
	case found && worst == doctor.Warning:
		return &codeError{code: exitFailed}
	}
	return nil
}

// show prints the report on one fleet.
func (o *doctorOptions) show(a *app, view *doctorView, r *doctor.Report) error {
	if o.json {
		return writeJSON(a.out, r)
	}
	return view.print(r)
}

// verdictOptions are how these masters are reached, for doctor.
func verdictOptions(urls []string, access *accessFlags) (o doctor.Options, err error) {
	o.URLs = urls
	if o.Pool, err = access.pool(); err != nil {
		return o, err
	}
	o.TLS, err = access.tlsConfig()
	return o, err
}

// verdictEvery is how long a verdict is shown before the masters are asked anew:
// each time, they are connected to.
const verdictEvery = time.Second

// verdicts says, as often as it is asked, whether such a client can take a lock. It
// is for one goroutine.
func verdicts(o doctor.Options, client doctor.Client) func(context.Context) (*doctor.Verdict, error) {
	var last *doctor.Verdict
	var asked time.Time
	return func(ctx context.Context) (*doctor.Verdict, error) {
		if last != nil && time.Since(asked) < verdictEvery {
			return last, nil
		}
		asked = time.Now()
		var err error
		last, err = doctor.CanLock(ctx, o, client)
		return last, err
	}
}

// printVerdict prints the answer to what is asked first, and what helps.
func printVerdict(b *bytes.Buffer, l layout, v *doctor.Verdict) {
	l.text(b, "", 0, v.String())
	for _, help := range v.Help {
		l.text(b, "  → ", 4, help)
	}
}
