// Package chaos lets contenders fight for one lock while masters break, and checks
// all the while that no two of them hold it at once. Masters of its own it kills,
// freezes, empties, cuts off and gives wrong clocks; those that others run it only
// watches.
package chaos

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

const chaosExamples = `  redlock-demo chaos                             watch, and break things by keys
  redlock-demo chaos --tour                      see every fault once
  redlock-demo chaos --spawn redis-server        the same with real masters
  redlock-demo chaos --masters redis://a,redis://b,redis://c     break yours
  redlock-demo chaos --script faults.txt --json | jq .verdict

  # faults.txt: times since the start, and what happens then
  2s   kill 1
  4s   freeze 2,3
  6s   thaw all
  8s   empty 1         # restart without its data; restart keeps it
  9s   skew 4 60s
  12s  end`

// The ranges of flags, and what they are by default.
const (
	minTTL      = 200 * time.Millisecond
	defaultTTL  = 2 * time.Second
	minDuration = time.Second
	maxDuration = 24 * time.Hour
)

// A command is chaos' flags. Masters of somebody else are taken from the flag alone: nobody is to fight on them because
// of a variable.
type command struct {
	*app.App
	*app.SharedFlags
	app.AccessFlags
	spawn, script, guard string
	tour                 bool
	ttl, duration        time.Duration
}

// Command makes chaos.
func Command(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &command{App: a, SharedFlags: shared, ttl: defaultTTL}
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Break masters while contenders fight for a lock, and check it",
		Long: `chaos starts five masters of its own and lets contenders fight for one lock on
them. At a terminal it shows the masters, and who holds the lock for how much
longer. Keys kill, freeze, restart, empty and cut off masters, and set their
clocks wrong. Elsewhere it prints plain lines, and does what --script says, by
default the tour of all faults.

The masters are embedded in the program. With --spawn they are processes, whose
clocks cannot be set. With --masters they are yours: chaos only locks on them
and shows which of them answer and vote, and you break them by other means. It
goes on until q, a signal or --for, and deletes its keys in the end.

All the time it checks that no two contenders hold the lock at once, and that
fencing tokens rise. What breaks the assumptions of the lock breaks the check:
set most clocks forward, or empty most masters with --guard off, and see.

Exit code: 0 when the check held, 1 when it did not, 69 when nobody ever had the
lock, 64 for a mistake in the arguments or the script, 71 when the masters
cannot be started.`,
		Example:     chaosExamples,
		Annotations: map[string]string{app.OwnMasters: ""},
		Args:        app.NoArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	shared.Register(cmd, "config", "max-ttl", "client-skew", "json")
	flags := cmd.Flags()
	flags.StringVar(&o.spawn, "spawn", "", "start real masters from this `binary`; a path, or a name such as redis-server")
	flags.StringArrayVar(&shared.Masters, "masters", nil, "comma-separated `urls` of masters that you break yourself: redis://, rediss:// or unix://")
	o.AccessFlags.Register(cmd)
	flags.StringVar(&o.script, "script", "", "`file` that says which faults happen when; - is the standard input")
	flags.BoolVar(&o.tour, "tour", false, "run the script that has every fault once")
	flags.Var(app.RangeFlag(&o.duration, minDuration, maxDuration), "for", "how long to run (default until q is pressed, or the script ends)")
	flags.Lookup("for").DefValue = ""
	flags.Var(app.RangeFlag(&o.ttl, minTTL, stage.MaxTTL), "ttl", "how long the masters keep a lock after its holder stops renewing it")
	app.RegisterGuard(cmd, &o.guard)
	_ = cmd.MarkFlagFilename("script")
	return cmd
}

func (o *command) run(cmd *cobra.Command) (err error) {
	changed := cmd.Flags().Changed
	if err := o.check(changed); err != nil {
		return err
	}
	show := &show{app: o.App, json: o.JSON, live: !o.JSON && o.Live()}
	show.paint = term.Paint(show.live && o.Coloured())
	options := Options{
		Options: stage.Options{Program: "redlock-demo-chaos", TTL: o.ttl, MaxTTL: o.MaxTTL, Client: app.GuardOption(o.guard)},
		Hold:    DefaultHold, Duration: o.duration, Told: show.told, Crash: show.release,
	}
	if o.Skew != 0 {
		options.Client = append(options.Client, redlock.WithClientSkew(o.Skew))
	}
	if changed("masters") {
		err = o.others(cmd, &options)
	} else if options.Script, err = o.faults(show.live, !changed("spawn")); err == nil {
		options.Cluster, err = stage.Start(cmd, o.spawn)
	}
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := options.Cluster.Close(); err == nil {
			err = closeErr
		}
	}()
	world, err := New(options)
	if err != nil {
		return app.InFlags(err)
	}
	return show.run(cmd.Context(), world)
}

// check is for after the flags are parsed.
func (o *command) check(changed func(flag string) bool) error {
	for _, name := range []string{"spawn", "script", "tour"} {
		if changed("masters") && changed(name) {
			return app.Usagef("--masters and --%s exclude each other: chaos breaks masters of its own only", name)
		}
	}
	switch {
	case o.tour && changed("script"):
		return app.Usagef("--tour and --script exclude each other: --tour runs a built-in script")
	case o.ttl%time.Millisecond != 0:
		return app.Usagef("--ttl %v: want whole milliseconds, as Redis counts them", o.ttl)
	}
	return nil
}

// others are masters that somebody else runs, and how they are reached. What a configuration file says of that is
// nothing to our own.
func (o *command) others(cmd *cobra.Command, options *Options) error {
	urls, err := o.NamedMasters(cmd, o.App)
	if err != nil {
		return err
	}
	options.Cluster = stage.Given(urls)
	options.Pool, err = o.Pool()
	return err
}

// afterwards is how long a run goes on after the last fault of a script that
// does not say when it ends.
const afterwards = 3 * time.Second

// faults is the script, nil for none. Where nobody is there to end the run, the
// script does. clocks says whether the masters' can be set.
func (o *command) faults(live, clocks bool) ([]stage.Fault, error) {
	var text io.Reader
	switch {
	case o.script == "-":
		text = o.In
	case o.script != "":
		file, err := os.Open(o.script)
		if err != nil {
			return nil, app.Usagef("--script: %w", err)
		}
		defer func() { _ = file.Close() }()
		text = file
	case o.tour || !live && o.duration == 0:
		text = strings.NewReader(stage.Tour)
	default:
		return nil, nil
	}
	faults, err := stage.Parse(text, stage.Masters)
	if err != nil {
		return nil, app.Usagef("--script %s: %w", o.script, err)
	}
	isSkew := func(f stage.Fault) bool { return f.Action == stage.Skew }
	if o.script == "" && !clocks {
		faults = slices.DeleteFunc(faults, isSkew)
	}
	if i := slices.IndexFunc(faults, isSkew); i >= 0 && !clocks {
		return nil, app.Usagef("--script %s: fault %d: the clocks of processes are the machine's, only those of embedded masters can be set: want no skew with --spawn", o.script, i+1)
	}
	if last := faults[len(faults)-1]; last.Action != stage.End && o.duration == 0 && !live {
		faults = append(faults, stage.Fault{At: last.At + afterwards, Action: stage.End})
	}
	return faults, nil
}

// chaosError is what the verdict means to the exit code; nil: the check held.
func chaosError(r *Result) error {
	switch r.Verdict {
	case VerdictBroken:
		return app.EndsWith(app.ExitFailed, fmt.Errorf("the lock was broken: %s", r.Sentence()))
	case VerdictUntested:
		return app.EndsWith(app.ExitNoQuorum, errors.New(r.Sentence()))
	default:
		return nil
	}
}
