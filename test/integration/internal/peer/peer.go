// Package peer runs the test binary once more, as another process that takes part in a test. The
// process reads orders from its standard input until that ends, and writes reports to its standard
// output, both in JSON.
package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A Process is a peer as the test sees it.
type Process struct {
	Over   bool // the process has ended
	Killed bool

	cmd    *exec.Cmd
	in     io.WriteCloser
	orders *json.Encoder
	ended  chan struct{} // closed once its output has ended
}

// Start starts a process with a variable set that says what it is. read runs in a goroutine of its
// own, and reads the reports of the process until they end.
func Start(variable, value string, read func(reports *json.Decoder)) (*Process, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, in: in, orders: json.NewEncoder(in), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		read(json.NewDecoder(out))
		_, _ = io.Copy(io.Discard, out)
	}()
	return p, nil
}

// Order sends the process an order.
func (p *Process) Order(o any) error { return p.orders.Encode(o) }

// Freeze stops the process, and returns when none of its threads runs any more.
func (p *Process) Freeze() error { return redistest.FreezeProcess(p.cmd.Process) }

// Thaw lets it go on.
func (p *Process) Thaw() error { return redistest.ThawProcess(p.cmd.Process) }

// Kill ends the process as a crash would. It may be called again.
func (p *Process) Kill() error {
	if p.Over {
		return nil
	}
	p.Killed = true
	_ = p.cmd.Process.Kill()
	return p.wait()
}

// End ends its input and waits for the process to leave, for at most within. It may be called
// again.
func (p *Process) End(within time.Duration) error {
	if p.Over {
		return nil
	}
	_ = p.in.Close()
	select {
	case <-p.ended:
		return p.wait()
	case <-time.After(within):
		return errors.Join(fmt.Errorf("it did not end within %v", within), p.Kill())
	}
}

func (p *Process) wait() error {
	p.Over = true
	<-p.ended
	err := p.cmd.Wait()
	_ = p.in.Close()
	if p.Killed {
		return nil
	}
	return err
}
