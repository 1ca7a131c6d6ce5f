//go:build unix

package tty

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// The files of a witness beside the terminal, which is its standard input and
// output.
const (
	aliveFile = 3 // ends with the process that is watched
	readyFile = 4 // told that the witness watches
)

// witnessBound is how long a witness may take to start, and to end.
const witnessBound = 2 * time.Second

// A witness is a process that gives the terminal back when ours ends in a way
// that leaves it no time to: SIGKILL, a panic in a goroutine of a library, a
// fatal error of the runtime.
type witness struct {
	cmd   *exec.Cmd
	alive *os.File
}

// newWitness starts one, by running this program with the arguments, which must
// call Witness. It must be done before the terminal is taken.
func newWitness(in, out *os.File, args []string) (*witness, error) {
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
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = in, out, []*os.File{aliveRead, readyWrite}
	// A session of its own: what is typed and what becomes of our group of
	// processes does not reach it, and it may set the terminal at any time.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = alive.Close()
		return nil, err
	}
	w := &witness{cmd, alive}
	_ = readyWrite.Close()
	_ = ready.SetReadDeadline(time.Now().Add(witnessBound))
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		w.dismiss()
		return nil, err
	}
	return w, nil
}

// dismiss ends the witness; there is nothing to give back any more.
func (w *witness) dismiss() {
	_, _ = w.alive.Write([]byte{0}) // it may have gone
	_ = w.alive.Close()
	late := time.AfterFunc(witnessBound, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	_ = w.cmd.Wait()
}

// Witness is the whole of the process that newWitness starts.
func Witness() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGPIPE)
	before, err := term.GetState(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	ready := os.NewFile(readyFile, "ready")
	if _, err := ready.Write([]byte{0}); err != nil {
		return err
	}
	_ = ready.Close()
	if n, _ := os.NewFile(aliveFile, "alive").Read(make([]byte, 1)); n == 1 {
		return nil // it has given the terminal back itself
	}
	_, _ = io.WriteString(os.Stdout, leave)
	return term.Restore(int(os.Stdin.Fd()), before)
}
