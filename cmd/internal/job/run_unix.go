//go:build unix

package job

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run starts the command and returns when it and all that it has started have ended: on
// Linux all its descendants that have not left the session, elsewhere its process group.
// After a loss it returns sooner if it may signal none of those that are left. An error
// means that the command could not be started.
func (c *Command) Run() (Result, error) {
	// The command gets its Pdeathsig when the thread ends that started it, so this
	// goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	adoptOrphans()
	children := make(chan os.Signal, 1) // one pending signal is enough: reap takes all children
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	Listen(c.Signals, ofTerminal...)

	g := &group{Command: c, terminal: openTerminal(), family: newFamily(), refused: map[id]bool{}}
	defer g.terminal.close()
	defer g.terminal.takeBack(false)
	if err := g.start(); err != nil {
		return Result{}, err
	}
	g.attend(children)
	g.result.Lent = g.terminal.modes != nil
	return g.result, nil
}

// Ending are the signals that would end other programs: requests to end, and limits that were
// reached. By default a Go program ignores some of them; at others it prints its goroutines and
// exits with code 2.
var Ending = append([]os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU,
	syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGIO,
}, ofThisSystem...)

// Writing are the signals that a process gets for its own writes.
var Writing = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

// NameOf returns the name of a signal: SIGINT.
func NameOf(s syscall.Signal) string { return cmp.Or(unix.SignalName(s), s.String()) }

// ofTerminal are the signals that Run handles in addition to those of Ending.
var ofTerminal = []os.Signal{syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGCONT}

// A group is a command that was started, and all that it starts itself. One goroutine
// uses it and also reaps, so no process number is used after it was freed.
type group struct {
	*Command
	*family
	terminal  *terminal
	pid       int // of the command, and of its group
	childless bool
	result    Result
	poll      *time.Ticker
	bound     <-chan time.Time // when the next step after a loss is due

	here, left  []process      // as last seen
	printed     bool           // it was printed that others are left
	interrupted bool           // the last signal was a SIGINT, after the command ended
	asked       syscall.Signal // the last signal that asked all to end, and when
	askedAt     time.Time
	refused     map[id]bool // processes that may not be signaled
	halted      []process   // by suspend
}

func (g *group) start() (err error) {
	sys := attributes()
	g.terminal.lendAtStart(sys)
	g.pid, err = g.fork(sys)
	// While the terminal is lent, this process writes to it and takes it back from the
	// background. SIGTTOU would suspend it ("stty tostop"), and nothing would be renewed.
	// Ignored only after fork, as the command would inherit that. A handler is no
	// substitute: the write would start again for ever.
	signal.Ignore(syscall.SIGTTOU)
	g.Started()
	if sys.Foreground && err == nil {
		g.terminal.lent = g.pid
	}
	return err
}

// attend handles all events until the group has ended.
func (g *group) attend(children <-chan os.Signal) {
	lost := g.Lost
	g.poll = time.NewTicker(lingerPoll)
	g.poll.Stop() // until the command has ended or the lock is lost
	defer g.poll.Stop()
	g.reap()
	for !g.over() {
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
			g.tick()
		}
	}
	if len(g.left) > 0 {
		g.Say(fmt.Sprintf("%d left the session and may go on without the lock: %s", len(g.left), listOf(g.left)))
	}
}

// over reports whether no process is left to wait for.
func (g *group) over() bool {
	if !g.result.Ended && !g.result.Lost {
		return false
	}
	awaited := func(p process) bool { return !(g.result.Lost && g.refused[p.id]) }
	if slices.ContainsFunc(g.here, func(p process) bool { return awaited(p) && p.alive() }) { // still alive
		return false
	}
	g.find()
	for _, p := range g.here {
		if g.result.Lost {
			_ = g.reach(p)
		}
	}
	if slices.ContainsFunc(g.here, awaited) {
		return false
	}
	g.result.GoesOn = listOf(g.here)
	return true
}

// find looks for processes that are left. A look may miss processes that fork and end
// meanwhile. The first of them is a child of this process: if reap sees its end, find looks again.
func (g *group) find() {
	for again := true; again; {
		again = false
		if g.here, g.left = nil, nil; !g.childless || !orphansAreOurs {
			g.here, g.left = g.look(g.pid)
			again = g.reap() && len(g.here) == 0
		}
	}
}

// tick is called every lingerPoll once the command has ended or the lock is lost.
func (g *group) tick() {
	g.reap() // orphans whose SIGCHLD was missed
	switch {
	case g.result.Killed:
		g.sendAll(syscall.SIGKILL) // also to new processes
	case !g.printed && !g.result.Lost:
		g.printed = true
		text := "the command has ended, and what it has started has not: " +
			"still locked, until this has ended: " + listOf(g.here)
		if g.terminal.file != nil {
			text += "; a second Ctrl-C sends SIGTERM"
		}
		g.SayToPerson(text)
	}
}

// reap handles all children that have stopped or ended, and reports whether one has ended.
func (g *group) reap() (ended bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil || pid <= 0:
			g.childless = errors.Is(err, syscall.ECHILD)
			return ended
		}
		ended = ended || !status.Stopped()
		switch {
		case pid != g.pid: // an orphan
		case status.Stopped():
			g.stopped(status.StopSignal())
		default:
			g.end(status)
		}
	}
}

func (g *group) end(status syscall.WaitStatus) {
	g.result.Ended = true
	g.result.Code = status.ExitStatus()
	if status.Signaled() {
		g.result.Signal = status.Signal()
		g.result.Code = 128 + int(g.result.Signal)
	}
	if g.terminal.takeBack(status.Signaled()) {
		_ = syscall.Kill(0, syscall.SIGCONT) // continue others of our group that used the lent terminal
		// bash reads one change of a child at a time. If we ended before it has read that the others
		// go on, it would take the whole pipeline for suspended.
		time.Sleep(lingerPoll)
	}
	g.poll.Reset(lingerPoll)
}

// send sends a signal to the command's group, or to the command alone if it has left the group.
func (g *group) send(s syscall.Signal) {
	if g.result.Ended { // the group may be empty, and another one may have its number
		here, _ := g.look(g.pid)
		if !slices.ContainsFunc(here, func(p process) bool { return p.group == g.pid }) {
			return
		}
	}
	if err := syscall.Kill(-g.pid, s); errors.Is(err, syscall.ESRCH) && !g.result.Ended {
		_ = syscall.Kill(g.pid, s) // at the worst it is a zombie
	}
}

// sendAll sends signals to all that the command has started: to its group in one step,
// then to the others, until it finds no new ones. Except for SIGKILL, it leaves out what
// a signaled process starts afterwards: that may be needed to clean up.
func (g *group) sendAll(signals ...syscall.Signal) {
	for _, s := range signals {
		g.send(s)
	}
	kills := signals[0] == syscall.SIGKILL
	signaled := map[int]int{} // by pid, in which pass
	for pass, again := 1, true; again; pass++ {
		again = false
		g.here, _ = g.look(g.pid)
		for _, p := range g.here {
			if by := signaled[p.parent]; signaled[p.pid] > 0 || by > 0 && by < pass && !kills {
				continue
			}
			signaled[p.pid], again = pass, true
			err := g.reach(p) // a signal to a group does not say which processes it missed
			for _, s := range signals {
				if err == nil && p.pid > 0 && (p.group != g.pid || kills) {
					err = p.signal(s)
				}
			}
		}
	}
}

// reach returns an error if a process may not be signaled, and prints that once.
func (g *group) reach(p process) error {
	err := p.signal(0)
	if errors.Is(err, syscall.EPERM) && !g.refused[p.id] {
		g.refused[p.id] = true
		g.Say(p.String() + " runs as another user and goes on")
	}
	return err
}

// forward forwards a signal: to all if it asks them to end, else to the command's group.
func (g *group) forward(s syscall.Signal) {
	again := s == syscall.SIGINT && g.interrupted
	g.interrupted = g.result.Ended && s == syscall.SIGINT
	g.result.Interrupted = g.result.Interrupted || s == syscall.SIGINT || s == syscall.SIGQUIT
	switch {
	case s == syscall.SIGCONT:
		g.resume()
	case s == syscall.SIGTTIN:
		// Another process of our group reads from the lent terminal, and is stopped.
		// This process goes on, and renews.
	case s == syscall.SIGTERM, s == syscall.SIGHUP:
		if s == g.asked && time.Since(g.askedAt) < sameBound {
			return
		}
		if g.sendAll(s); g.Held() { // otherwise terminate follows
			g.sendAll(syscall.SIGCONT) // a suspended process goes on, to end
		}
		g.asked, g.askedAt = s, time.Now()
	case again: // what a shell starts in the background ignores SIGINT
		g.sendAll(syscall.SIGTERM)
	case s == syscall.SIGTSTP && g.result.Ended && !g.result.Lost: // no command is left that would stop
		g.suspend()
	default:
		g.send(s) // this process stops when the command has stopped
	}
}

// terminate asks all processes to end, and continues suspended ones so that they can.
func (g *group) terminate() {
	g.result.Lost = true
	g.poll.Reset(lingerPoll)
	if g.Grace <= 0 {
		g.kill()
		return
	}
	g.bound = time.After(g.Grace)
	g.sendAll(syscall.SIGTERM, syscall.SIGCONT)
}

func (g *group) kill() {
	g.result.Killed = true
	g.bound = time.After(stuckBound)
	g.sendAll(syscall.SIGKILL)
}

// stopped handles a suspension of the command. If the command only waits for the
// terminal, and we can lend that, it gets it. If a person has suspended it, this process
// is suspended too, so that the shell notices. SIGSTOP does not come from a terminal: the
// command stays suspended, and the lock stays held.
func (g *group) stopped(s syscall.Signal) {
	switch {
	case g.result.Lost:
		g.send(syscall.SIGCONT) // so that it can end
	case s == syscall.SIGSTOP:
	case s != syscall.SIGTSTP && g.terminal.lend(g.pid):
		g.send(syscall.SIGCONT)
	case s != syscall.SIGTSTP && orphaned(): // it would ask again and again
		g.Say("the command asks for the terminal and cannot have it: " +
			"it is suspended, and the lock is held until it has ended")
	default:
		g.suspend()
	}
}

// suspend stops this process until somebody continues it. Nothing is renewed meanwhile.
// If no shell controls this process, it does not stop and the group goes on at once, as
// with an orphaned process group in the kernel.
func (g *group) suspend() {
	wasLent := g.terminal.takeBack(false)
	if orphaned() {
		g.resume()
		return
	}
	if p, halted := g.halt(); !halted {
		g.Say(p.String() + " runs as another user and cannot be suspended, " +
			"so nobody is: it would go on without the lock")
		g.resume()
		return
	}
	target := os.Getpid()
	if wasLent {
		// Also a script that has started us, and others of a pipeline, as Ctrl-Z does where the
		// terminal was not lent.
		target = 0
	}
	stop(target)
	stopped := time.After(stopBound) // ends the wait if SIGCONT is ignored
	for {
		select {
		case s := <-g.Signals:
			switch s {
			case syscall.SIGCONT:
			case syscall.SIGTSTP: // it came before the stop
				continue
			default:
				g.forward(s.(syscall.Signal))
				continue
			}
		case <-stopped:
		}
		signal.Notify(g.Signals, syscall.SIGTSTP)
		g.resume()
		return
	}
}

// halt suspends the processes that still run; false: the returned process cannot be suspended.
func (g *group) halt() (process, bool) {
	for again := true; again; {
		again = false
		here, _ := g.look(g.pid)
		for _, p := range here {
			if p.suspended || slices.ContainsFunc(g.halted, func(h process) bool { return h.id == p.id }) {
				continue
			}
			if p.pid == 0 || errors.Is(p.signal(syscall.SIGSTOP), syscall.EPERM) {
				return p, false
			}
			g.halted, again = append(g.halted, p), true
		}
	}
	return process{}, true
}

// orphaned reports whether our process group is orphaned: no ancestor in our session is
// outside of it, as a shell with job control would be.
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

// resume lets the group go on if the lock is still held. Otherwise Lost is about to be
// closed, and terminate follows.
func (g *group) resume() {
	if !g.Held() {
		return
	}
	if g.terminal.interactive() && !g.result.Ended {
		g.terminal.lend(g.pid)
	}
	g.send(syscall.SIGCONT)
	for _, p := range g.halted {
		_ = p.signal(syscall.SIGCONT)
	}
	g.halted = nil
}
