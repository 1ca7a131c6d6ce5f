// Package exec is the command that runs a command while it holds a lock.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/job"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

const execExamples = `  # a cron job on three hosts, of which one at a time may run it
  redlock exec --try -E 0 nightly-report -- /usr/local/bin/report --all

  # wait for up to a minute, and say what is going on
  redlock exec --wait 1m --verbose deploy -- make deploy

  # while the masters are changed: in the old fleet and in the new one
  redlock exec --masters redis://a,redis://b,redis://c \
      --move-to redis://d,redis://e,redis://f nightly-report -- report

  # the password is in no list of processes
  redlock exec --masters rediss://a,rediss://b,rediss://c \
      --password-file /etc/redlock.pw invoices -- charge --all`

const (
	defaultExecTTL = 10 * time.Second
	minExecTTL     = 20 * time.Millisecond
	maxExecTTL     = time.Minute // the library's default, which is the fleet's
	defaultGrace   = 5 * time.Second
	maxGrace       = time.Hour

	defaultWaitQuorum = 3 * time.Second // the library's
	maxWaitQuorum     = time.Hour
	tryEvery          = 250 * time.Millisecond // with --try and --wait-quorum
	// With --try, after votes that were split: how often it tries again at the most, and the
	// longest pause before that, which is random.
	mostSplits = 10
	splitPause = 60 * time.Millisecond
)

// execOptions are the flags of exec.
type execOptions struct {
	*app.SharedFlags
	app.AccessFlags
	ttl, wait, grace time.Duration
	waitQuorum       time.Duration
	try              bool
	owner            string
	guard            string
	moveTo, movedTo  []string
	fence, reentrant bool
	busyCode         int
	json, verbose    bool
}

func (o *execOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(app.RangeFlag(&o.ttl, minExecTTL, maxExecTTL), "ttl", "how long the masters keep the lock if this host dies, 20ms to 1m")
	flags.VarP(app.OrZero(app.RangeFlag(&o.wait, app.MinWait, app.MaxWait)), "wait", "w", "how long to wait while somebody else holds the lock; 0: without limit")
	flags.BoolVarP(&o.try, "try", "n", false, "do not wait when somebody else holds the lock")
	flags.Var(app.RangeFlag(&o.waitQuorum, 0, maxWaitQuorum), "wait-quorum", "how long to keep trying, within --wait, while there is no quorum of masters; a value above --max-ttl also waits for restarted masters; with --try the default is 0")
	flags.StringVar(&o.owner, "owner", "", "`name` that others see as the holder or waiter of the lock (default user@host/pid)")
	flags.Var(app.RangeFlag(&o.grace, 0, maxGrace), "grace", "time between SIGTERM and SIGKILL when the lock is lost; 0: SIGKILL at once")
	flags.VarP(app.NumberFlag(&o.busyCode, 0, 255), "conflict-exit-code", "E", "exit code when somebody else holds the lock")
	flags.BoolVar(&o.fence, "fence", false, "take a fencing token; the command finds it in $REDLOCK_FENCE")
	flags.BoolVar(&o.reentrant, "reentrant", false, "if an outer exec already holds this lock, run the command under that hold")
	flags.BoolVar(&o.json, "json", false, "print one JSON document on standard error at the end, and nothing else")
	flags.BoolVar(&o.verbose, "verbose", false, "report on standard error what happens to the lock")
	flags.StringArrayVar(&o.moveTo, "move-to", nil, "comma-separated `urls` of the new fleet's masters during a move: exec takes the lock in the old fleet and in the new one; for several fleets NAME=urls, one flag for each")
	flags.StringArrayVar(&o.movedTo, "moved-to", nil, "`name` of the move, as in fleet close --to, if that is a name and not a list of masters; may be given several times")
	app.RegisterGuard(cmd, &o.guard)
	o.AccessFlags.Register(cmd)
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &execOptions{SharedFlags: shared, ttl: defaultExecTTL, grace: defaultGrace, waitQuorum: defaultWaitQuorum, busyCode: app.ExitBusy}
	cmd := &cobra.Command{
		Use:   "exec [flags] KEY -- COMMAND [ARGUMENT]...",
		Short: "Run a command while holding a lock",
		Long: `exec takes the lock, runs the command, and gives the lock back when the command
and all that it has left running in its process group have ended. The lock is
renewed as long as that takes. It waits while somebody else holds the lock,
unless told otherwise.

The command has the standard streams to itself. exec passes on to its process
group SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, and
all other signals that would end exec, but for SIGKILL and signal 34. If the
lock is lost, the group gets SIGTERM and, after --grace, SIGKILL. Meanwhile the
masters may give the lock to somebody else.

Its environment has REDLOCK_KEY, REDLOCK_TOKEN (which proves the hold to the
masters) and REDLOCK_VALID_UNTIL (RFC 3339; when the lock would end without a
renewal, as of the start of the command). REDLOCK_HELD lists the keys of all
locks around it. exec takes none of them again: it would wait for itself.

With several fleets (--masters NAME=url,url,... for each) it takes the lock in
the fleet to which the key belongs by the fleets' names. So all clients have to
give all fleets, with the same names. With --move-to it takes the lock in the
old fleet and in the new one (docs/how-to/moving-a-fleet.md). A lock in two has
no REDLOCK_TOKEN.

Exit code: the command's, or 128+n where signal n ended it; 75 (or -E) when
somebody else holds the lock (with -E 0 it then says nothing); 69 when there is
no quorum of masters, 74 when the lock was lost, 126 when the command cannot be
run, 127 when there is none of that name, 64 for a mistake in the arguments.`,
		Example: execExamples,

		Args: execArguments,
		RunE: func(cmd *cobra.Command, args []string) error { return runExec(cmd, a, o, args[0], args[1:]) },
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = app.FlagError(cmd, err)
		if strings.HasPrefix(err.Error(), "unknown ") {
			return app.Usagef("%w; the command goes behind --", err)
		}
		return err
	})
	shared.Register(cmd, "masters", "config", "max-ttl", "client-skew")
	cmd.Flags().Lookup("masters").Usage = app.MastersOfSeveral
	o.register(cmd)
	return cmd
}

// execArguments wants a key, --, and a command.
func execArguments(cmd *cobra.Command, args []string) error {
	before := cmd.ArgsLenAtDash()
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

// runExec is exec, from the arguments on. What only other arguments mend is
// found before anything is locked.
func runExec(cmd *cobra.Command, a *app.App, o *execOptions, key string, argv []string) error {
	if o.try && cmd.Flags().Changed("wait") {
		return app.Usagef("--try and --wait exclude each other: --try does not wait, --wait says for how long to wait")
	}
	if !cmd.Flags().Changed("ttl") && o.MaxTTL != 0 { // nobody asked for a TTL that the fleet has no room for
		o.ttl = min(o.ttl, o.MaxTTL)
	}
	if o.try && !cmd.Flags().Changed("wait-quorum") {
		o.waitQuorum = 0
	}
	path, err := findCommand(argv[0])
	if err != nil {
		return err
	}
	if is, err := o.nested(a, key, path, argv); is {
		return err
	}
	n := &narrator{app: a, began: time.Now(), silent: o.json, key: key, pauses: newPauseWatch(drift.System()), verbose: o.verbose && !o.json, person: !o.json && term.IsTerminal(os.Stderr)}
	opts := append(app.GuardOption(o.guard), redlock.WithTTL(o.ttl), redlock.WithOutageWait(o.waitQuorum))
	if cmd.Flags().Changed("owner") { // the library's default names this process
		opts = append(opts, redlock.WithOwner(o.owner))
	}
	if o.fence {
		opts = append(opts, redlock.WithFencing())
	}
	for _, name := range o.movedTo {
		opts = append(opts, redlock.WithMovedTo(name))
	}
	where, err := o.openPlace(cmd, a, key, n.trace, opts...)
	if err != nil {
		return err
	}
	defer where.close()
	if names := where.names(); names != nil {
		n.tell("lock %q is in fleet %s", key, quotedList(names))
	}

	e := &execution{execOptions: o, place: where, narrator: n, key: key, path: path, argv: argv, around: heldAround(a.Env)}
	err = e.run(cmd.Context())
	switch {
	case errors.As(err, new(*app.UsageError)):
		return err
	case o.json:
		return e.report(a.Err, err)
	case app.ExitCode(err) == app.ExitNoQuorum && errors.Is(err, redlock.ErrNoQuorum): // at once: to close takes time where masters do not answer
		n.say("%v", err)
		return &app.CodeError{Code: app.ExitNoQuorum}
	case err != nil && app.ExitCode(err) == app.ExitOK: // -E 0: not worth a line in a cron job's mail
		n.tell("%v", err)
		return nil
	}
	return err
}

// findCommand finds the program, before anything is locked for it.
func findCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", app.EndsWith(app.ExitNotFound, fmt.Errorf("command %q: not found", name))
	default:
		return "", cannotRun(name, err)
	}
}

func cannotRun(name string, err error) error {
	if found, ok := errors.AsType[*exec.Error](err); ok {
		err = found.Err
	}
	return app.EndsWith(app.ExitCannotRun, fmt.Errorf("command %q: cannot be run: %w", name, err))
}

// An execution is one run of exec.
type execution struct {
	*execOptions
	*narrator
	place  *place
	key    string
	path   string
	argv   []string
	around []string // keys of the locks that are held around this process

	waited  time.Duration // for the lock
	heldFor time.Duration
	command *job.Result // nil: it was not run
	running atomic.Bool // the command does
}

// run takes the lock, runs the command and gives the lock back.
func (e *execution) run(outer context.Context) error {
	// Signals are taken over from the rest of the program: while the lock is
	// waited for they end that, afterwards they are the command's.
	signals := make(chan os.Signal, 16)
	job.Listen(signals, job.Ending...)
	defer signal.Stop(signals)
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	began := time.Now()
	lock, err := e.acquire(context.WithoutCancel(outer), signals)
	e.waited = time.Since(began)
	if err != nil {
		return err
	}
	began = time.Now()
	e.pauses.forget()
	defer e.pauses.start()()
	loss := e.watchLoss(lock)
	e.running.Store(true)
	result, err := e.runCommand(lock, signals)
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
		by, told := loss()
		if by == "" && isLost { // by Unlock alone, which found it out just now
			by = e.place.operator(e.key)
		}
		return app.EndsWith(app.ExitLost, &lostError{key: e.key, fleet: e.place.of(unlockErr, context.Cause(lock.Context())), lost: lost, operator: by, told: told, result: result, grace: e.grace, pause: e.pauses.look(), ttl: e.ttl})
	case result.Code != 0:
		return &app.CodeError{Code: result.Code}
	}
	return nil
}

func (e *execution) runCommand(lock fleets.Hold, signals chan os.Signal) (job.Result, error) {
	command := &job.Command{
		Path:      e.path,
		Args:      e.argv,
		Env:       environment(os.Environ(), e.around, lock, e.place.token(lock)),
		Signals:   signals,
		Lost:      lock.Context().Done(),
		Held:      func() bool { return lock.Context().Err() == nil },
		Grace:     e.grace,
		Lingering: func() { e.tell("the command has ended, others of its process group have not: still locked") },
	}
	return command.Run()
}

// environment is the command's: ours, and what it may know of the lock. token may be "":
// there is none.
func environment(ours, around []string, lock fleets.Hold, token string) []string {
	env := make([]string, 0, len(ours)+5)
	for _, v := range ours {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "REDLOCK_KEY", "REDLOCK_TOKEN", "REDLOCK_VALID_UNTIL", "REDLOCK_FENCE", HeldVariable: // of another lock, around this one
		default:
			env = append(env, v)
		}
	}
	env = append(env,
		"REDLOCK_KEY="+lock.Key(), heldWithin(around, lock.Key()),
		"REDLOCK_VALID_UNTIL="+lock.ValidUntil().UTC().Format(time.RFC3339Nano))
	if token != "" {
		env = append(env, "REDLOCK_TOKEN="+token)
	}
	if fence := lock.Fence(); fence != 0 {
		env = append(env, fmt.Sprintf("REDLOCK_FENCE=%d", fence))
	}
	return env
}
