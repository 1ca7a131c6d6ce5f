// Redlock-demo shows the lock of package redlock at work: on masters embedded
// in the program, which is what it does without arguments, on real ones that it
// starts, or on real ones that somebody else runs. It also puts it to use, from
// a shell: exec runs a command while holding a lock.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/job"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the program, from the arguments to the exit code.
func run(args []string) int {
	// The commands say in their own words what happens to masters and locks.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, skip: make(chan struct{})}
	defer a.watchSignals(cancel)()

	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" && !errors.Is(err, syscall.EPIPE) { // whoever read has gone, and needs no telling
		if errors.As(err, new(*signalError)) && isTerminal(os.Stderr) {
			fmt.Fprintln(a.err) // after the ^C that the terminal shows
		}
		fmt.Fprintf(a.err, "redlock-demo: %s\n", redacted(err.Error()))
	}
	return exitCode(err)
}

// An app is the world around the commands.
type app struct {
	in, out *os.File
	err     io.Writer
	env     func(string) string
	skip    chan struct{} // Ctrl-C, while somebody waits for a person
}

// A signalError is why the commands' context ended.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return "ended by " + signalNames[e.signal] }

var signalNames = map[syscall.Signal]string{
	syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT",
}

// watchSignals ends the commands' context at the first SIGINT or SIGTERM, but
// for a SIGINT that skips something. The second one ends the process at once, as
// if nobody listened. SIGPIPE is taken so that a write to a closed pipe is an
// error, after which everything is cleaned up, and not the end.
func (a *app) watchSignals(cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 4)
	job.Listen(signals, syscall.SIGINT, syscall.SIGTERM)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGINT && a.skipped() {
					continue
				}
				signal.Stop(signals)
				cancel(&signalError{s.(syscall.Signal)})
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// skipBound is for how long whoever waits for a person may be looking elsewhere.
const skipBound = 50 * time.Millisecond

// skipped tells whoever waits for a person to go on; false: nobody does.
func (a *app) skipped() bool {
	t := time.NewTimer(skipBound)
	defer t.Stop()
	select {
	case a.skip <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}

// credentials are those of a URL, wherever somebody has put it.
var credentials = regexp.MustCompile(`://[^\s"]*@`)

// redacted hides passwords in a message that may repeat what was typed.
func redacted(message string) string {
	return credentials.ReplaceAllString(message, "://[redacted]@")
}
