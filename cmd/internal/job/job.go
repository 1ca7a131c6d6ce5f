// Package job runs one command in a process group of its own and sees it to its
// end: it forwards signals to the group, lends it the terminal, ends it when
// the caller's lock is lost, and returns when nobody of the group is left.
//
// On unix it reaps every child of the process, and on Linux it adopts orphans:
// a program that runs other commands beside this one must not use it. Elsewhere
// there are no process groups: the command alone is waited for and ended.
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
	// Lost is closed when the group has to end.
	Lost <-chan struct{}
	// Held is asked before a group that was suspended goes on: while it was,
	// nothing was renewed.
	Held func() bool
	// Grace is the time from SIGTERM to SIGKILL once Lost is closed. 0: SIGKILL
	// at once.
	Grace time.Duration
	// Lingering, if not nil, is called when the command has ended and others
	// of its group have not.
	Lingering func()
}

// A Result tells how a command ended.
type Result struct {
	Code   int            // as a shell has it: 128+n where signal n ended it
	Signal syscall.Signal // 0: it ended by itself
	Lost   bool           // it was ended because Lost was closed
	Killed bool           // by SIGKILL, after the grace
	Stuck  bool           // somebody of the group has survived even that, so far
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
	// lingerPoll is how often it is seen whether a group is empty, once the
	// command has ended and others have not.
	lingerPoll = 50 * time.Millisecond
	// stuckBound is how long a group is waited for after SIGKILL: a process in
	// an uninterruptible system call goes no sooner than that returns.
	stuckBound = 10 * time.Second
	// stopBound is for a suspension of this process to take effect, and for
	// the end of it to be noticed where SIGCONT is ignored.
	stopBound = 200 * time.Millisecond
)
