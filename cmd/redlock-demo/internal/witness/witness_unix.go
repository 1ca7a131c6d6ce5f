//go:build unix

// Package witness has a process watch ours, and do what is left to be done when
// ours ends in a way that leaves it no time to: SIGKILL, a panic in a goroutine of
// a library, a fatal error of the runtime.
package witness

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// The files of a witness beside its standard ones.
const (
	aliveFile = 3 // ends with the process that is watched
	readyFile = 4 // told that the witness watches
)

// bound is how long a witness may take to start, and to end.
const bound = 2 * time.Second

// A Witness is the process that watches ours.
type Witness struct {
	cmd   *exec.Cmd
	alive *os.File
}

// Start runs this program with the arguments, which must call Await, and returns
// once it watches, after 2 s at the most. in and out become its standard input
// and output; nil: it has none.
func Start(in, out *os.File, args ...string) (*Witness, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	aliveRead, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ready, readyWrite, err := os.Pipe()
	if err != nil {
		_, _ = aliveRead.Close(), alive.Close()
		return nil, err
	}
	defer func() { _, _, _ = aliveRead.Close(), ready.Close(), readyWrite.Close() }()
	cmd := exec.Command(program, args...)
	cmd.ExtraFiles = []*os.File{aliveRead, readyWrite}
	if in != nil { // a nil *os.File in an interface is no nil
		cmd.Stdin = in
	}
	if out != nil {
		cmd.Stdout = out
	}
	// A session of its own: what is typed and what becomes of our group of
	// processes does not reach it, and it may set the terminal at any time.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = alive.Close()
		return nil, err
	}
	w := &Witness{cmd, alive}
	_ = readyWrite.Close()
	_ = ready.SetReadDeadline(time.Now().Add(bound))
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		w.Dismiss()
		return nil, err
	}
	return w, nil
}

// Dismiss ends the witness: nothing is left to be done. It takes at most 2 s.
func (w *Witness) Dismiss() {
	_, _ = w.alive.Write([]byte{0}) // it may have gone
	_ = w.alive.Close()
	late := time.AfterFunc(bound, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	_ = w.cmd.Wait()
}

// Await is for the process that Start starts. It returns when the process that is
// watched has dismissed this one, or has gone without. No signal that can be
// ignored ends this process from here on.
func Await() (dismissed bool, err error) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGPIPE)
	ready := os.NewFile(readyFile, "ready")
	if _, err := ready.Write([]byte{0}); err != nil {
		return false, err
	}
	_ = ready.Close()
	n, _ := os.NewFile(aliveFile, "alive").Read(make([]byte, 1))
	return n == 1, nil
}
