// Package job runs one command in a process group of its own and sees it to its
// end: it forwards signals, lends it the terminal, ends it and all that it has
// started when the caller's lock is lost, and returns when nobody of them is left.
//
// On unix it reaps every child of the process, and on Linux it adopts orphans:
// a program that runs other commands beside this one must not use it. Where
// processes cannot be listed, the command's process group is all that it knows.
// On Windows the command alone is waited for and ended.
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
	Args []string // the first is the name that it was called by
	Env  []string
	// Signals that arrive here are forwarded. Run asks for more signals than
	// those of Ending to be sent there, and never closes it.
	Signals chan os.Signal
	// Started is called once the command runs, or cannot. What is written sooner may suspend this
	// process, in the background of a terminal, and nothing would be renewed.
	Started func()
	// Lost is closed when the group has to end.
	Lost <-chan struct{}
	// Held is asked before a group that was suspended goes on: while it was,
	// nothing was renewed.
	Held func() bool
	// Grace is the time from SIGTERM to SIGKILL once Lost is closed. 0: SIGKILL
	// at once.
	Grace time.Duration
	// Say is called with what has to be said, Tell with what those are told who
	// look on. Neither may block.
	Say, Tell func(string)
}

// A Result tells how a command ended.
type Result struct {
	Ended  bool           // else Code and Signal say nothing
	Code   int            // as a shell has it: 128+n where signal n ended it
	Signal syscall.Signal // 0: it ended by itself
	Lost   bool           // it was ended because Lost was closed
	Killed bool           // by SIGKILL, after the grace
	Stuck  bool           // somebody has survived even that, so far
	GoesOn string         // who was not waited for after a loss, since another user may end them
	// Interrupted: SIGINT or SIGQUIT was forwarded. Lent: the command had the terminal,
	// where these come from.
	Interrupted, Lent bool
}

// Listen has the signals sent to the channel, but for those that whoever
// started the process wants to be ignored, as nohup does with SIGHUP.
func Listen(c chan<- os.Signal, signals ...os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

const (
	// lingerPoll is how often it is seen whether others are left, once the
	// command has ended or has to.
	lingerPoll = 50 * time.Millisecond
	// stuckBound is how long a group is waited for after SIGKILL: a process in
	// an uninterruptible system call goes no sooner than that returns.
	stuckBound = 10 * time.Second
	// sameBound is how far apart two equal signals are that whoever sends them means as
	// one: timeout sends SIGTERM to its child, and then to the group of both.
	sameBound = 500 * time.Millisecond
	// stopBound is for a suspension of this process to take effect, and for
	// the end of it to be noticed where SIGCONT is ignored.
	stopBound = 200 * time.Millisecond
)
