package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

// byeBound is how long a client may take to end: to finish what waits for a
// lock or a master, and to close.
const byeBound = 25 * time.Second

// A child is a client's process, as the test sees it.
type child struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	orders *json.Encoder
	ended  chan struct{} // closed once its output has ended
	killed bool
	waited bool
	// stopped: it was frozen once, so what it did then took as long as that.
	stopped bool
}

// startChild starts a client whose events go to the history.
func startChild(t *testing.T, number int, s spec, into *history) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{number: number, cmd: cmd, in: in, orders: json.NewEncoder(in), ended: make(chan struct{})}
	t.Cleanup(func() { _ = c.kill() }) // where the row has failed
	go func() {
		defer close(c.ended)
		decoder := json.NewDecoder(out)
		for {
			var e event
			if err := decoder.Decode(&e); err != nil {
				if !errors.Is(err, io.EOF) {
					into.add(number, event{Kind: eventBye, Failed: failedOther, Text: fmt.Sprintf("its output: %v", err)})
					_, _ = io.Copy(io.Discard, out)
				}
				return
			}
			into.add(number, e)
		}
	}()
	if err := c.orders.Encode(s); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) order(o order) error { return c.orders.Encode(o) }

// freeze stops the process, and returns when none of its threads runs any more.
func (c *child) freeze() error {
	c.stopped = true
	return redistest.FreezeProcess(c.cmd.Process)
}

func (c *child) thaw() error { return redistest.ThawProcess(c.cmd.Process) }

// kill ends the process as a crash would. It may be called again.
func (c *child) kill() error {
	if c.waited {
		return nil
	}
	c.killed = true
	_ = c.cmd.Process.Kill()
	return c.wait()
}

// end has the client stop, close and leave.
func (c *child) end() error {
	if c.waited {
		return nil
	}
	_ = c.in.Close()
	select {
	case <-c.ended:
		return c.wait()
	case <-time.After(byeBound):
		return errors.Join(fmt.Errorf("client %d did not end within %v", c.number, byeBound), c.kill())
	}
}

func (c *child) wait() error {
	c.waited = true
	<-c.ended
	err := c.cmd.Wait()
	_ = c.in.Close()
	if err != nil && !c.killed {
		return fmt.Errorf("client %d: %w", c.number, err)
	}
	return nil
}
