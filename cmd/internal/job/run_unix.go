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
// Linux everybody who descends from it and has not left the session, elsewhere everybody
// of its process group. After a loss it returns sooner where nobody is left whom it may
// signal. An error means that the command could not be started.
func (c *Command) Run() (Result, error) {
	// The signal that the command gets when this process dies comes with the
	// end of the thread that started it; so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	adoptOrphans()
	children := make(chan os.Signal, 1) // one that waits is enough: reap takes all
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

// Ending are the signals that would end another program: it was asked to end, or has set itself a limit. At
// some of them a Go program would end with the states of its goroutines and code 2, and others it would not heed.
var Ending = append([]os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU,
	syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGIO,
}, ofThisSystem...)

// Writing are those that a process gets for what it has written itself.
var Writing = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

// NameOf returns the name of a signal: SIGINT.
func NameOf(s syscall.Signal) string { return cmp.Or(unix.SignalName(s), s.String()) }

// ofTerminal are the signals that are forwarded beside those of Ending.
var ofTerminal = []os.Signal{syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGCONT}

// A group is a command that was started, and all that it starts itself. It is
// used by one goroutine, which also reaps: no process number is used after it
// was given back.
type group struct {
	*Command
	*family
	terminal  *terminal
	pid       int // of the command, and of its group
	childless bool
	result    Result
	poll      *time.Ticker
	bound     <-chan time.Time // of what happens next after a loss

	here, left  []process      // as they were seen last
	told        bool           // that others are left
	interrupted bool           // by a SIGINT since the command has ended
	asked       syscall.Signal // to end, by which signal, and when
	askedAt     time.Time
	refused     map[id]bool // who may not be signalled
	halted      []process   // by suspend
}

func (g *group) start() (err error) {
	sys := attributes()
	g.terminal.lendAtStart(sys)
	g.pid, err = g.fork(sys)
	// Who has lent the terminal away writes to it and takes it back from the background.
	// Where "stty tostop" is set, that would suspend this process, and nothing would be
	// renewed. Not sooner: the command would inherit it. And no handler does for
	// ignoring: the write would begin anew for ever.
	signal.Ignore(syscall.SIGTTOU)
	g.Started()
	if sys.Foreground && err == nil {
		g.terminal.lent = g.pid
	}
	return err
}

// attend sees the group to its end.
func (g *group) attend(children <-chan os.Signal) {
	lost := g.Lost
	g.poll = time.NewTicker(time.Hour) // shorter when the command has ended
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

// over reports whether nobody is left to be waited for.
func (g *group) over() bool {
	if !g.result.Ended && !g.result.Lost {
		return false
	}
	awaited := func(p process) bool { return !(g.result.Lost && g.refused[p.id]) }
	if slices.ContainsFunc(g.here, func(p process) bool { return awaited(p) && p.alive() }) { // who has not ended since
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

// find looks who is left. Of those that fork and end while it looks one may not be seen;
// but the first of them was a child of this process, to which it is reaped.
func (g *group) find() {
	for again := true; again; {
		again = false
		if g.here, g.left = nil, nil; !g.childless || !orphansAreOurs {
			g.here, g.left = g.look(g.pid)
			again = g.reap() && len(g.here) == 0
		}
	}
}

// tick is called again and again while the command has ended and others have not, or all are to be killed.
func (g *group) tick() {
	g.reap() // orphans, where SIGCHLD went unseen
	switch {
	case g.result.Killed:
		g.sendAll(syscall.SIGKILL) // also to those that are new
	case !g.told && !g.result.Lost:
		g.told = true
		text := "the command has ended, and what it has started has not: " +
			"still locked, until this has ended: " + listOf(g.here)
		if g.terminal.file != nil {
			text += "; a second Ctrl-C sends SIGTERM"
		}
		g.Tell(text)
	}
}

// reap takes notice of all children that have stopped or ended, and reports whether one has ended.
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
		_ = syscall.Kill(0, syscall.SIGCONT) // others of this group that have used the terminal while it was lent
	}
	g.poll.Reset(lingerPoll)
}

// send sends a signal to everybody of the command's group, and to the command also where it has moved to another one.
func (g *group) send(s syscall.Signal) {
	if g.result.Ended { // the group may be empty, and its number another's by now
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
// then to the others, until it finds nobody new. What those start who have been told is
// theirs to end, but for SIGKILL: they may be cleaning up.
func (g *group) sendAll(signals ...syscall.Signal) {
	for _, s := range signals {
		g.send(s)
	}
	kills := signals[0] == syscall.SIGKILL
	told := map[int]int{} // in which pass
	for pass, again := 1, true; again; pass++ {
		again = false
		g.here, _ = g.look(g.pid)
		for _, p := range g.here {
			if by := told[p.parent]; told[p.pid] > 0 || by > 0 && by < pass && !kills {
				continue
			}
			told[p.pid], again = pass, true
			err := g.reach(p) // a signal to a group does not tell whom it has not reached
			for _, s := range signals {
				if err == nil && p.pid > 0 && (p.group != g.pid || kills) {
					err = p.signal(s)
				}
			}
		}
	}
}

// reach is an error where a process may not be signalled, and says so once.
func (g *group) reach(p process) error {
	err := p.signal(0)
	if errors.Is(err, syscall.EPERM) && !g.refused[p.id] {
		g.refused[p.id] = true
		g.Say(p.String() + " runs as another user and goes on")
	}
	return err
}

// forward passes a signal on: to all if it asks them to end, else to the command's group, as a terminal does.
func (g *group) forward(s syscall.Signal) {
	again := s == syscall.SIGINT && g.interrupted
	g.interrupted = g.result.Ended && s == syscall.SIGINT
	g.result.Interrupted = g.result.Interrupted || s == syscall.SIGINT || s == syscall.SIGQUIT
	switch {
	case s == syscall.SIGCONT:
		g.resume()
	case s == syscall.SIGTTIN:
		// Another one of this process's group reads from the terminal that is lent, and
		// is stopped. This process renews.
	case s == syscall.SIGTERM, s == syscall.SIGHUP:
		if s == g.asked && time.Since(g.askedAt) < sameBound {
			return
		}
		if g.sendAll(s); g.Held() { // else more follows
			g.sendAll(syscall.SIGCONT) // to end also where it is suspended
		}
		g.asked, g.askedAt = s, time.Now()
	case again: // what a shell starts in the background ignores SIGINT
		g.sendAll(syscall.SIGTERM)
	case s == syscall.SIGTSTP && g.result.Ended && !g.result.Lost: // nobody else stops now
		g.suspend()
	default:
		g.send(s) // a stop of ours follows when the command has stopped
	}
}

// terminate asks all to end, and lets them go on to do so where they are suspended.
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
	case s != syscall.SIGTSTP && orphaned(): // it would ask again and again
		g.Say("the command asks for the terminal and cannot have it: " +
			"it is suspended, and the lock is held until it has ended")
	default:
		g.suspend()
	}
}

// suspend stops this process until somebody continues it. Nothing is renewed
// meanwhile. Where no shell looks after this process it does not stop, and the
// group goes on at once, as the kernel has it for other processes.
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
	whom := os.Getpid()
	if wasLent {
		// What Ctrl-Z does to a script that has started us, and others of a pipeline, had we not
		// lent the terminal.
		whom = 0
	}
	stop(whom)
	stopped := time.After(stopBound) // no time passes for this process while it is
	for {
		select {
		case s := <-g.Signals:
			switch s {
			case syscall.SIGCONT:
			case syscall.SIGTSTP: // it came before
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

// halt suspends those that still run, and reports whether nobody runs on; if not, who does.
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

// resume lets the group go on, if the lock is still held. If it is not, Lost is
// about to be closed, and what follows from that is all that the group will see.
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
