//go:build unix

package job

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run starts the command and returns when it and everybody of its process group
// have ended. An error means that it could not be started.
//
// Processes that have left the group, as daemons do, are not waited for.
func (c *Command) Run() (Result, error) {
	// The signal that the command gets when this process dies comes with the
	// end of the thread that started it; so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	adoptOrphans()
	children := make(chan os.Signal, 1) // one that waits is enough: reap takes all
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	Listen(c.Signals, further...)

	g := &group{Command: c, terminal: openTerminal()}
	defer g.terminal.close()
	if err := g.start(); err != nil {
		return Result{}, err
	}
	defer g.terminal.takeBack()
	g.attend(children)
	return g.result, nil
}

// Ending are the signals that ask a process to end, and those at which a Go program would end with the states of its
// goroutines and code 2.
var Ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS}

// NameOf returns the name of a signal: SIGINT.
func NameOf(s syscall.Signal) string { return unix.SignalName(s) }

// further are the signals that are forwarded beside those of Ending: all others that would end this process, and leave
// the command without its lock, and those of a terminal.
var further = append([]os.Signal{
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGXFSZ,
	syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGIO,
}, ofThisSystem...)

// A group is a command that was started, and all that it starts itself. It is
// used by one goroutine, which also reaps: no process number is used after it
// was given back.
type group struct {
	*Command
	terminal *terminal
	pid      int // of the command, and of its group
	ended    bool
	result   Result
	poll     *time.Ticker
	bound    <-chan time.Time // of what happens next after a loss
}

func (g *group) start() error {
	pid, err := syscall.ForkExec(g.Path, g.Args, &syscall.ProcAttr{
		Env:   g.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   attributes(),
	})
	if err != nil {
		return err
	}
	g.pid = pid
	if g.terminal.interactive() {
		g.terminal.lend(g.pid)
	}
	return nil
}

// attend sees the group to its end.
func (g *group) attend(children <-chan os.Signal) {
	lost := g.Lost
	g.poll = time.NewTicker(time.Hour) // shorter when the command has ended
	defer g.poll.Stop()
	g.reap()
	for !g.gone() {
		select {
		case <-children:
			g.reap()
		case s := <-g.Signals:
			g.forward(s.(syscall.Signal))
		case <-lost:
			lost = nil
			g.terminate()
		case <-g.bound:
			if g.result.Killed {
				g.result.Stuck = true
				return
			}
			g.kill()
		case <-g.poll.C:
			g.reap() // orphans, where SIGCHLD went unseen
		}
	}
}

// gone reports whether nobody of the group is left.
func (g *group) gone() bool {
	return g.ended && errors.Is(syscall.Kill(-g.pid, 0), syscall.ESRCH)
}

// reap takes notice of all children that have stopped or ended.
func (g *group) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case pid != g.pid: // an orphan
		case status.Stopped():
			g.stopped(status.StopSignal())
		default:
			g.end(status)
		}
	}
}

func (g *group) end(status syscall.WaitStatus) {
	g.ended = true
	g.result.Code = status.ExitStatus()
	if status.Signaled() {
		g.result.Signal = status.Signal()
		g.result.Code = 128 + int(g.result.Signal)
	}
	g.terminal.takeBack()
	if !g.gone() {
		g.poll.Reset(lingerPoll)
		if g.Lingering != nil && !g.result.Lost {
			g.Lingering()
		}
	}
}

// send sends a signal to everybody of the group, and to the command also where
// it has moved to another one.
func (g *group) send(s syscall.Signal) {
	if err := syscall.Kill(-g.pid, s); errors.Is(err, syscall.ESRCH) && !g.ended {
		_ = syscall.Kill(g.pid, s) // at the worst it is a zombie
	}
}

func (g *group) forward(s syscall.Signal) {
	if s == syscall.SIGCONT {
		g.resume()
		return
	}
	g.send(s) // a stop of ours follows when the command has stopped
}

// terminate asks the group to end, and lets it go on to do so where it is
// suspended.
func (g *group) terminate() {
	g.result.Lost = true
	if g.Grace <= 0 {
		g.kill()
		return
	}
	g.send(syscall.SIGTERM)
	g.send(syscall.SIGCONT)
	g.bound = time.After(g.Grace)
}

func (g *group) kill() {
	g.result.Killed = true
	g.send(syscall.SIGKILL)
	g.bound = time.After(stuckBound)
}

// stopped is told that the command was suspended. Where it only waits for the
// terminal, and that is ours to give, it gets it. Where a person has suspended
// it, this process is suspended too, so that the shell notices. SIGSTOP is
// nobody at a terminal: the command stands still and the lock is held on.
func (g *group) stopped(s syscall.Signal) {
	switch {
	case g.result.Lost:
		g.send(syscall.SIGCONT) // to die
	case s == syscall.SIGSTOP:
	case s != syscall.SIGTSTP && g.terminal.lend(g.pid):
		g.send(syscall.SIGCONT)
	default:
		g.suspend()
	}
}

// suspend stops this process until somebody continues it. Nothing is renewed
// meanwhile. Where no shell looks after this process it does not stop, and the
// group goes on at once, as the kernel has it for other processes.
func (g *group) suspend() {
	wasLent := g.terminal.takeBack()
	if orphaned() {
		g.resume()
		return
	}
	if wasLent {
		// What Ctrl-Z does to a script that has started us, and others of a
		// pipeline, had we not lent the terminal.
		ignoring(syscall.SIGTSTP, func() { _ = syscall.Kill(0, syscall.SIGTSTP) })
		Listen(g.Signals, syscall.SIGTSTP)
	}
	// package signal cannot give SIGTSTP its default back.
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	stopped := time.After(stopBound) // no time passes for this process while it is
	for {
		select {
		case s := <-g.Signals:
			if s != syscall.SIGCONT {
				g.send(s.(syscall.Signal))
				continue
			}
		case <-stopped:
		}
		g.resume()
		return
	}
}

// orphaned reports whether nobody outside of our group of processes looks after
// it, as a shell with job control does.
func orphaned() bool {
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	for pid := os.Getpid(); ; {
		parent, ok := parentOf(pid)
		if !ok {
			return true
		}
		if its, err := unix.Getsid(parent); err != nil || its != session {
			return true
		}
		if group, err := syscall.Getpgid(parent); err != nil || group != syscall.Getpgrp() {
			return err != nil
		}
		pid = parent
	}
}

// ignoring calls f while a signal is ignored. Nothing may be started meanwhile:
// it would inherit that.
func ignoring(s syscall.Signal, f func()) {
	if !signal.Ignored(s) {
		signal.Ignore(s)
		defer signal.Reset(s)
	}
	f()
}

// resume lets the group go on, if the lock is still held. If it is not, Lost is
// closed by now, and what follows from that is all that the group will see.
func (g *group) resume() {
	if !g.Held() {
		return
	}
	if g.terminal.interactive() {
		g.terminal.lend(g.pid)
	}
	g.send(syscall.SIGCONT)
}
