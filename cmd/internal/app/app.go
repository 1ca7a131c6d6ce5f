// Package app holds what all commands share: how they run and end, flags, the configuration file,
// the masters and the access to them.
package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/early"
	"github.com/redquorum/redquorum/cmd/internal/job"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// Run runs a program, from the arguments to the exit code. newRoot makes its commands.
func Run(newRoot func(*App) *cobra.Command, args []string) int {
	// The commands report on masters and locks themselves: the library's log would repeat it.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a := &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Skip: make(chan struct{})}
	defer a.watchSignals(cancel)()

	root := newRoot(a)
	a.Name = root.Name()
	root.SetArgs(args)
	err := checkCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if a.outErr != nil {
		err = a.outErr
	}
	gone := errors.Is(err, syscall.EPIPE) // the reader has closed the pipe, and needs no message
	if err != nil && err.Error() != "" && !gone {
		if errors.As(err, new(*SignalError)) && term.IsTerminal(os.Stderr) {
			fmt.Fprintln(a.Err) // ends the line with the ^C that the terminal shows
		}
		a.Say(err.Error())
	}
	if s, group := signalOf(err); s != 0 {
		job.EndBy(s, group)
	}
	return ExitCode(err)
}

// An App holds what the commands use of their process: streams, environment, signals.
type App struct {
	Name    string // of the program
	In, Out *os.File
	Err     io.Writer
	Env     func(string) string
	Skip    chan struct{} // gets a value for each Ctrl-C while a command waits for a person
	Skips   atomic.Bool   // whether Ctrl-C may end such a wait

	outErr error // the error of writing what cobra prints
}

// Say prints a message of the program on standard error. On a terminal it breaks no word.
func (a *App) Say(message string) {
	var b bytes.Buffer
	term.LayoutFor(os.Stderr).Text(&b, "", 0, a.Name+": "+term.Clean(message))
	_, _ = a.Err.Write(b.Bytes()) // there is nowhere left to say that it failed
}

// Quiet is how long an outage goes unreported when stderr is not a terminal. It is longer than the
// second that a new fleet of one master waits before it is declared.
const Quiet = ConnectBound

// Write writes what cobra prints: help, versions, completions.
func (a *App) Write(p []byte) (int, error) {
	n, err := a.Out.Write(p)
	if err != nil {
		a.outErr = &OutputError{err} // cobra drops the error or its type
	}
	return n, err
}

// A SignalError is the cause of the commands' context when a signal ended it.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "ended by " + job.NameOf(e.Signal) }

// watchSignals ends the commands' context at the first signal of job.Ending, except a SIGINT
// that skips a wait. The second signal has its default effect: it ends the process at once.
// watchSignals also catches SIGPIPE and SIGXFSZ. Then a write to a closed pipe, or to a file
// that may not grow, returns an error and the command can clean up.
func (a *App) watchSignals(cancel context.CancelCauseFunc) (stop func()) {
	signals := early.Signals
	job.Listen(signals, job.Ending...)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, job.Writing...)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGINT && a.Skips.Load() && a.skipped() {
					continue
				}
				cancel(&SignalError{s.(syscall.Signal)}) // before Stop, which may be slow
				signal.Stop(signals)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// skipBound is how long skipped waits for a receiver.
const skipBound = 50 * time.Millisecond

// skipped ends a command's wait for a person; false: no command waits.
func (a *App) skipped() bool {
	t := time.NewTimer(skipBound)
	defer t.Stop()
	select {
	case a.Skip <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}
