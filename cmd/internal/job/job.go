// Package job runs one command in a process group of its own and waits for its end.
// It forwards signals, lends the command the terminal, ends it and all that it has
// started when the caller's lock is lost, and returns when none of them is left.
//
// On unix it reaps every child of the process, and on Linux it adopts orphans:
// a program that runs other commands beside this one must not use it. Where
// processes cannot be listed, it knows only the command's process group.
// On Windows it waits for and ends only the command.
package job

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A Command is what Run runs. Its standard streams are those of the process.
type Command struct {
	Path string   // of the program
	Args []string // the first is the name by which it was called
	Env  []string
	// Signals that arrive here are forwarded. Run registers the channel for more
	// signals than Ending, and never closes it.
	Signals chan os.Signal
	// Started is called once the command runs, or cannot run. Earlier output could suspend this
	// process, in the background of a terminal, and nothing would be renewed.
	Started func()
	// Lost is closed when the group has to end.
	Lost <-chan struct{}
	// Held is called before a suspended group goes on: nothing was renewed while it
	// was suspended.
	Held func() bool
	// Grace is the time from SIGTERM to SIGKILL once Lost is closed. 0: SIGKILL
	// at once.
	Grace time.Duration
	// Say gets messages for everybody, SayToPerson those for a person who watches. Neither
	// may block.
	Say, SayToPerson func(string)
}

// A Result tells how a command ended.
type Result struct {
	Ended  bool           // false: Code and Signal mean nothing
	Code   int            // as in a shell: 128+n where signal n ended it
	Signal syscall.Signal // 0: it ended by itself
	Lost   bool           // it was ended because Lost was closed
	Killed bool           // by SIGKILL, after the grace
	Stuck  bool           // a process has survived even that, so far
	GoesOn string         // processes not awaited after a loss: only another user may end them
	// Interrupted: SIGINT or SIGQUIT was forwarded. Lent: the command had the terminal,
	// which sends these signals.
	Interrupted, Lent bool
}

// Listen registers the channel for the signals, except those that were ignored when the
// process was started, such as SIGHUP by nohup.
func Listen(c chan<- os.Signal, signals ...os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

const (
	// lingerPoll is how often Run looks for processes that are left, once the
	// command has ended or has to end.
	lingerPoll = 50 * time.Millisecond
	// stuckBound is how long Run waits for a group after SIGKILL: a process in an
	// uninterruptible system call ends only when the call returns.
	stuckBound = 10 * time.Second
	// sameBound is the time within which two equal signals count as one: timeout(1)
	// sends SIGTERM to its child, and then to the group of both.
	sameBound = 500 * time.Millisecond
	// stopBound is how long a suspension of this process may take to begin, and its
	// end to be noticed where SIGCONT is ignored.
	stopBound = 200 * time.Millisecond
)
