// Package exec is the command that runs a command while it holds a lock.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/job"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const execExamples = `  # a cron job on three hosts, of which one at a time may run it
  redlock exec --try --wait-quorum 2m -E 0 nightly -- /usr/local/bin/report

  # wait for up to a minute, and say what is going on
  redlock exec --wait 1m --verbose deploy -- make deploy

  # the password is in no list of processes
  redlock exec --masters rediss://a,rediss://b,rediss://c \
      --password-file /etc/redlock.pw invoices -- charge --all`

const (
	defaultExecTTL = 10 * time.Second
	minExecTTL     = 20 * time.Millisecond
	maxExecTTL     = time.Minute // the library's default for the longest TTL of a fleet
	defaultGrace   = 5 * time.Second
	maxGrace       = time.Hour

	defaultWaitQuorum = 3 * time.Second // as in the library
	maxWaitQuorum     = time.Hour
	tryEvery          = 250 * time.Millisecond // with --try and --wait-quorum
	// With --try, after split votes: how often exec tries again at most, and the longest
	// random pause before a try.
	mostSplits = 10
	splitPause = 60 * time.Millisecond
)

// execOptions are the flags of exec.
type execOptions struct {
	*app.SharedFlags
	app.AccessFlags
	ttl, wait, grace time.Duration
	waitQuorum       time.Duration
	again            bool // this is the second run, with the settings of the fleet read again
	try              bool
	owner            string
	guard            string
	fence            bool
	busyCode         int
	json, verbose    bool
}

func (o *execOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(app.RangeFlag(&o.ttl, minExecTTL, maxExecTTL), "ttl",
		"how long the masters keep the lock if this host dies, 20ms to 1m")
	flags.VarP(app.OrZero(app.RangeFlag(&o.wait, app.MinWait, app.MaxWait)), "wait", "w",
		"how long to wait while somebody else holds the lock; 0: as --try; by default without limit")
	flags.BoolVarP(&o.try, "try", "n", false, "do not wait when somebody else holds the lock")
	flags.Var(app.RangeFlag(&o.waitQuorum, 0, maxWaitQuorum), "wait-quorum",
		"how long to keep trying while there is no quorum of masters, beside --wait; "+
			"2m also waits for restarted ones; with --try the default is 0")
	flags.StringVar(&o.owner, "owner", "",
		"`name` that others see as the holder or waiter of the lock (default user@host/pid)")
	flags.Var(app.RangeFlag(&o.grace, 0, maxGrace), "grace",
		"time between SIGTERM and SIGKILL when the lock is lost; 0: SIGKILL at once")
	flags.VarP(app.NumberFlag(&o.busyCode, 0, 255), "conflict-exit-code", "E",
		"exit code when somebody else holds the lock")
	flags.BoolVar(&o.fence, "fence", false, "take a fencing token; the command finds it in $REDLOCK_FENCE")
	flags.BoolVar(&o.json, "json", false, "print one JSON document on standard error at the end, and nothing else")
	flags.BoolVar(&o.verbose, "verbose", false, "report on standard error what happens to the lock")
	app.RegisterChoice(cmd, "guard", "level", &o.guard, []string{"off", "standard", "strict"},
		"what a master has to prove before its vote counts: off, standard or strict; "+
			"all clients need the same level (default standard)")
	o.AccessFlags.Register(cmd)
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &execOptions{
		SharedFlags: shared,
		ttl:         defaultExecTTL,
		grace:       defaultGrace,
		waitQuorum:  defaultWaitQuorum,
		busyCode:    app.ExitBusy,
	}
	cmd := &cobra.Command{
		Use:   "exec [flags] KEY -- COMMAND [ARGUMENT]...",
		Short: "Run a command while holding a lock",
		Long: `exec takes the lock, runs the command, and gives the lock back when the command
and all that it has started have ended; what leaves the session, as a daemon
does, is let go. The lock is renewed as long as that takes. It waits while
somebody else holds the lock, unless told otherwise.

The command has the standard streams to itself. exec passes on to its process
group SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, and
all other signals that would end exec, but for SIGKILL, SIGXFSZ and signal 34;
the second and third also to all else that it has started. If the lock is lost,
all get SIGTERM and, after --grace, SIGKILL. Meanwhile the masters may give the
lock to somebody else.

The longest TTL and the guard are as the markers of the masters say, or the file
of --config, which also has client-skew.

Its environment has REDLOCK_KEY and REDLOCK_VALID_UNTIL (RFC 3339; when the lock
would end without a renewal, as of the start of the command). REDLOCK_HELD lists
the keys of all locks around it. While one is held, exec refuses to take it
again: it would wait for itself.

Exit code: the command's, or 128+n where signal n ended it; 75 (or -E) when
somebody else holds the lock (with -E 0 it then says nothing); 69 when there is
no quorum of masters, 74 when the lock was lost, 126 when the command cannot be
run, 127 when there is none of that name, 64 for a mistake in the arguments.`,
		Example: execExamples,

		Args: execArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, args = keyFirst(cmd, args)
			return runExec(cmd, a, o, args[0], args[1:])
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = app.FlagError(cmd, err)
		if strings.HasPrefix(err.Error(), "unknown ") {
			return app.Usagef("%w; the command goes behind --", err)
		}
		return err
	})
	shared.Register(cmd, "masters", "config", "max-ttl", "client-skew")
	o.register(cmd)
	// Their values come from the markers or the configuration file.
	for _, name := range []string{"guard", "max-ttl", "client-skew"} {
		_ = cmd.Flags().MarkHidden(name) // the flag exists
	}
	return cmd
}

// keyFirst removes the second -- of "-- KEY -- COMMAND", the form for a key that begins with a
// dash. It returns how many arguments are before the command, or a negative number if there was
// no --, and the arguments.
func keyFirst(cmd *cobra.Command, args []string) (before int, rest []string) {
	if before = cmd.ArgsLenAtDash(); before == 0 && len(args) > 1 && args[1] == "--" {
		return 1, slices.Concat(args[:1], args[2:])
	}
	return before, args
}

// execArguments requires a key, --, and a command.
func execArguments(cmd *cobra.Command, args []string) error {
	before, args := keyFirst(cmd, args)
	var what string
	switch {
	case before < 0 && len(args) == 0:
		what = "a key and a command are missing"
	case before < 0:
		what = "no -- between the key and the command"
	case before == 0:
		what = "no key before --"
	case before > 1:
		what = fmt.Sprintf("%d arguments before --, one of which is the key", before)
	case len(args) == before:
		what = "no command after --"
	case args[1] == "":
		what = "the command's name is empty"
	default:
		return app.CheckKeys(args[0])
	}
	return app.Usagef("%s: want %s KEY -- COMMAND (see %[2]s --help)", what, cmd.CommandPath())
}

// runExec runs exec with its arguments. It finds mistakes in them before it takes a lock.
func runExec(cmd *cobra.Command, a *app.App, o *execOptions, key string, argv []string) error {
	if o.try && cmd.Flags().Changed("wait") {
		return app.Usagef("--try and --wait exclude each other: --try does not wait, --wait says for how long to wait")
	}
	o.try = o.try || cmd.Flags().Changed("wait") && o.wait == 0 // as in flock
	if o.try && !cmd.Flags().Changed("wait-quorum") {
		o.waitQuorum = 0
	}
	path, err := job.Find(argv[0]) // before the lock is taken
	if err != nil {
		err = cannotRun(argv[0], err)
	} else if err = job.Room(); err != nil {
		err = app.EndsWith(app.ExitOS, err)
	}
	if err != nil {
		if o.json {
			return (&execution{narrator: &narrator{}, key: key}).report(a.Err, err)
		}
		return err
	}
	n := &narrator{
		app:     a,
		began:   time.Now(),
		silent:  o.json,
		key:     key,
		verbose: o.verbose,
		person:  term.IsTerminal(os.Stderr),
		lines:   deliver.New(slog.New(slog.DiscardHandler)),
		started: make(chan struct{}),
	}
	defer n.lines.Close()
	urls, err := o.NamedMasters(cmd, a)
	if err != nil {
		return err
	}
	poolOpts, err := o.Pool(cmd.Context())
	if err != nil {
		return err
	}
	masters, err := pool.New(urls, poolOpts...)
	if err != nil {
		return app.InFlags(err)
	}
	defer func() { _ = masters.Close() }() // it returns no error
	shared, given := *o.SharedFlags, *o
	opts, sure := o.options(cmd, masters)
	client, err := redlock.New(masters, append(opts, redlock.WithTrace(n.trace()))...)
	if err != nil {
		return app.InFlags(err)
	}
	defer client.Close()

	e := &execution{
		execOptions: o,
		client:      client,
		narrator:    n,
		key:         key,
		path:        path,
		argv:        argv,
		around:      heldAround(a.Env),
	}
	err = e.run(cmd.Context())
	if !sure && !o.again && e.command == nil && ofOtherSettings(err) { // of masters that came up later
		*o.SharedFlags, *o, o.again = shared, given, true
		return runExec(cmd, a, o, key, argv)
	}
	switch {
	case errors.As(err, new(*app.UsageError)):
		return err
	case o.json:
		return e.report(a.Err, err)
	case app.ExitCode(err) == app.ExitNoQuorum && errors.Is(err, redlock.ErrNoQuorum):
		// Reported before Close, which takes time when masters do not answer.
		n.say(true, "%v", err)
		return &app.CodeError{Code: app.ExitNoQuorum}
	case err != nil && app.ExitCode(err) == app.ExitOK: // -E 0: not worth a line in a cron job's mail
		n.say(n.verbose, "%v", err)
		return nil
	}
	return err
}

// ofOtherSettings reports whether err comes from a master whose marker has other settings than ours.
func ofOtherSettings(err error) bool {
	failed, ok := errors.AsType[*redlock.QuorumError](err)
	return ok && slices.ContainsFunc(slices.Collect(failed.NodeErrors()), func(node *redlock.NodeError) bool {
		why, ok := errors.AsType[*redlock.AbstainError](node)
		return ok && why.Cause == guard.OtherFleet
	})
}

// options returns the options for the library. Settings on which all clients have to agree come
// from the flags, or else from the masters' markers. sure: the markers of a quorum agree.
func (o *execOptions) options(cmd *cobra.Command, masters *pool.Pool) (opts []redlock.Option, sure bool) {
	fleet, found, sure := observe.SettingsOf(cmd.Context(), masters)
	if found { // the call has also given connections time
		o.guard, o.MaxTTL = cmp.Or(o.guard, fleet.Level.String()), cmp.Or(o.MaxTTL, fleet.MaxTTL)
	}
	if !cmd.Flags().Changed("ttl") && o.MaxTTL != 0 { // the default may be longer than the fleet allows
		o.ttl = min(o.ttl, o.MaxTTL)
	}
	opts = append(o.FleetOptions(o.guard), redlock.WithTTL(o.ttl), redlock.WithOutageWait(o.waitQuorum))
	if cmd.Flags().Changed("owner") { // the library's default names this process
		opts = append(opts, redlock.WithOwner(o.owner))
	}
	if o.fence {
		opts = append(opts, redlock.WithFencing())
	}
	return opts, sure
}

// cannotRun returns why a command does not run, with the exit code that a shell gives it.
func cannotRun(name string, err error) error {
	if found, ok := errors.AsType[*exec.Error](err); ok {
		err = found.Err
	}
	switch {
	case errors.As(err, new(*job.InterpreterError)):
		return app.EndsWith(app.ExitNotFound, fmt.Errorf("command %q: %w", name, err))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return app.EndsWith(app.ExitNotFound, fmt.Errorf("command %q: not found", name))
	default:
		return app.EndsWith(app.ExitCannotRun, fmt.Errorf("command %q: cannot be run: %w", name, err))
	}
}

// An execution is one run of exec.
type execution struct {
	*execOptions
	*narrator
	client *redlock.Client
	key    string
	path   string
	argv   []string
	around surrounding

	outwaited bool          // --wait is over; set before the waiting ends
	waited    time.Duration // for the lock
	heldFor   time.Duration
	command   *job.Result // nil: it was not run
	running   atomic.Bool // whether the command runs
}

// run takes the lock, runs the command and gives the lock back.
func (e *execution) run(outer context.Context) error {
	// While exec waits for the lock, signals end the wait by the context. This channel
	// keeps them for the command, which gets them afterwards.
	signals := make(chan os.Signal, 16)
	job.Listen(signals, job.Ending...)
	defer signal.Stop(signals)
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	if err := e.nested(outer); err != nil {
		return err
	}
	began := time.Now()
	lock, err := e.acquire(outer)
	e.waited = time.Since(began)
	if err != nil {
		close(e.started)
		return err
	}
	began = time.Now()
	lostLock, loss := e.watchLoss(lock)
	e.running.Store(true)
	result, err := e.runCommand(lock, lostLock, signals)
	e.running.Store(false)
	if err == nil {
		e.command = &result
	}
	unlockErr := lock.Unlock(context.WithoutCancel(outer)) // bounded by the masters' timeout
	e.heldFor = time.Since(began)
	lost, isLost := errors.AsType[*redlock.LostError](unlockErr)
	switch {
	case err != nil:
		return cannotRun(e.argv[0], err)
	case result.Lost, isLost:
		if lost == nil {
			lost, _ = errors.AsType[*redlock.LostError](context.Cause(lock.Context()))
		}
		by, printed := loss()
		if by == "" && isLost { // only Unlock has found the loss, just now
			by = e.operatorThere()
		}
		return app.EndsWith(app.ExitLost, &lostError{
			key:      e.key,
			lost:     lost,
			operator: by,
			printed:  printed,
			result:   result,
			grace:    e.grace,
		})
	case result.Code != 0:
		// Ctrl-C went only to the group with the terminal, not to the script around this process.
		fromKeyboard := result.Signal == syscall.SIGINT || result.Signal == syscall.SIGQUIT
		group := result.Lent && !result.Interrupted && fromKeyboard
		return &app.CodeError{Code: result.Code, Signal: result.Signal, Group: group}
	}
	return nil
}

func (e *execution) runCommand(lock *redlock.Lock, lost <-chan struct{}, signals chan os.Signal) (job.Result, error) {
	command := &job.Command{
		Path:        e.path,
		Args:        e.argv,
		Env:         environment(os.Environ(), e.around, lock),
		Signals:     signals,
		Started:     func() { close(e.started) },
		Lost:        lost,
		Held:        func() bool { return lock.Context().Err() == nil },
		Grace:       e.grace,
		Say:         func(text string) { e.say(true, "%s", text) },
		SayToPerson: func(text string) { e.say(e.narrator.verbose || e.person, "%s", text) },
	}
	return command.Run()
}

// environment returns the command's environment: ours, and what it may know about the lock.
func environment(ours []string, around surrounding, lock *redlock.Lock) []string {
	env := slices.DeleteFunc(ours, func(v string) bool { // variables of an outer lock
		name, _, _ := strings.Cut(v, "=")
		others := []string{"REDLOCK_KEY", "REDLOCK_VALID_UNTIL", "REDLOCK_FENCE", heldVariable, hashesVariable}
		return slices.Contains(others, name)
	})
	until := lock.ValidUntil().UTC().Format(time.RFC3339Nano)
	env = append(env, "REDLOCK_KEY="+lock.Key(), "REDLOCK_VALID_UNTIL="+until)
	if fence := lock.Fence(); fence != 0 {
		env = append(env, fmt.Sprintf("REDLOCK_FENCE=%d", fence))
	}
	return append(env, around.within(lock.Key(), lock.Token())...)
}
