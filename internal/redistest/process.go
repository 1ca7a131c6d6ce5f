package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is one run of a server's binary.
type process struct {
	handle *os.Process
	exited chan struct{} // closed once the process is reaped
	status error         // how it ended; read it after exited is closed
}

// startProcess starts cmd. Its goroutine ends when the process does.
//
// On Linux the kernel kills the child when the *thread* that forked it exits. The Go runtime ends
// threads as it likes, for example with a goroutine that ended while locked to one. So the
// goroutine that forks stays on its thread until it has reaped the child: the thread lives as long
// as the child. A single launcher thread for the whole package would do as well, but nothing would
// end it. The price is one blocked thread a server.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{exited: make(chan struct{})}
	started := make(chan error)
	cmd.SysProcAttr = childAttributes()
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.handle = cmd.Process
		started <- err
		if err != nil {
			return
		}
		p.status = cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// outcome says how the process ended; only after exited is closed.
func (p *process) outcome() string {
	if p.status == nil {
		return "exit status 0"
	}
	return p.status.Error()
}

// signal sends sig. A process that has ended already is no error.
func (p *process) signal(sig os.Signal) error { return signal(p.handle, sig) }

func signal(p *os.Process, sig os.Signal) error {
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to process %d: %w", sig, p.Pid, err)
	}
	return nil
}

// waitFor reports whether the process ended within d.
func (p *process) waitFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// kill ends the process with SIGKILL and waits until it is reaped.
func (p *process) kill() error {
	if err := p.signal(os.Kill); err != nil {
		return err
	}
	if !p.waitFor(killBound) {
		return fmt.Errorf("process %d still exists %v after SIGKILL", p.handle.Pid, killBound)
	}
	return nil
}

// stop ends the process with SIGTERM, and with SIGKILL if it is still there
// after bound. A frozen process is thawed, else it would not handle the signal.
func (p *process) stop(bound time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return errors.Join(err, p.kill())
	}
	if err := resume(p.handle); err != nil {
		return errors.Join(err, p.kill())
	}
	if p.waitFor(bound) {
		return nil
	}
	if err := p.kill(); err != nil {
		return err
	}
	return fmt.Errorf("process %d did not end within %v of SIGTERM and was killed", p.handle.Pid, bound)
}

// freeze stops the process and returns once it no longer runs.
func (p *process) freeze() error { return freeze(p.handle, p.exited) }

// FreezeProcess stops a process with SIGSTOP, and returns once none of its threads runs
// any more. It blocks for freezeBound at the most. Only Unix can do it.
func FreezeProcess(p *os.Process) error { return freeze(p, nil) }

// ThawProcess resumes a process that FreezeProcess has stopped, with SIGCONT.
func ThawProcess(p *os.Process) error { return resume(p) }

func freeze(p *os.Process, exited <-chan struct{}) error {
	if err := suspend(p); err != nil {
		return err
	}
	deadline := time.NewTimer(freezeBound)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		stopped, err := suspended(p.Pid)
		if err != nil {
			return fmt.Errorf("state of process %d: %w", p.Pid, err)
		}
		if stopped {
			return nil
		}
		select {
		case <-exited:
			return ErrNotRunning
		case <-deadline.C:
			return fmt.Errorf("process %d still runs %v after SIGSTOP", p.Pid, freezeBound)
		case <-tick.C:
		}
	}
}
