// Package app is what the commands have in common: how they are run and end, flags, the configuration file,
// which masters there are and how they are reached.
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

// Run is a program, from the arguments to the exit code. newRoot makes its commands.
func Run(newRoot func(*App) *cobra.Command, args []string) int {
	// The commands say in their own words what happens to masters and locks.
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
	gone := errors.Is(err, syscall.EPIPE) // whoever read, and needs no telling
	if err != nil && err.Error() != "" && !gone {
		if errors.As(err, new(*SignalError)) && term.IsTerminal(os.Stderr) {
			fmt.Fprintln(a.Err) // after the ^C that the terminal shows
		}
		a.Say(err.Error())
	}
	if s, group := signalOf(err); s != 0 {
		job.EndBy(s, group)
	}
	return ExitCode(err)
}

// An App is the world around the commands.
type App struct {
	Name    string // of the program
	In, Out *os.File
	Err     io.Writer
	Env     func(string) string
	Skip    chan struct{} // Ctrl-C, while somebody waits for a person
	Skips   atomic.Bool   // somebody may

	outErr error // of what cobra prints, which could not be written
}

// Say prints a message of the program on the standard error. At a terminal no word of it is broken.
func (a *App) Say(message string) {
	var b bytes.Buffer
	term.LayoutFor(os.Stderr).Text(&b, "", 0, a.Name+": "+term.Clean(message))
	_, _ = a.Err.Write(b.Bytes()) // there is nowhere left to say that it failed
}

// Quiet is how long an outage goes unreported when stderr is not a terminal. It is longer than the
// second that a new fleet of one master waits before it is declared.
const Quiet = ConnectBound

// Write is for what cobra prints: help, versions, completions.
func (a *App) Write(p []byte) (int, error) {
	n, err := a.Out.Write(p)
	if err != nil {
		a.outErr = &OutputError{err} // cobra loses it, or what it is of
	}
	return n, err
}

// A SignalError is why the commands' context ended.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "ended by " + job.NameOf(e.Signal) }

// watchSignals ends the commands' context at the first signal that asks for it, but
// for a SIGINT that skips something. The second one ends the process at once, as
// if nobody listened. SIGPIPE and SIGXFSZ are taken so that a write to a closed
// pipe, or to a file that may not grow, is an error, after which everything is
// cleaned up, and not the end.
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
				cancel(&SignalError{s.(syscall.Signal)}) // before Stop, which may take its time
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

// skipped tells whoever waits for a person to go on; false: nobody does.
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
