package integration

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A child is another process, as the test sees it.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	reports chan report // closed when the child's output has ended
	ended   bool
}

// startChild starts the test binary once more, in a role. It ends with the test.
func startChild(t *testing.T, role string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+role)
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
	c := &child{t: t, cmd: cmd, in: in, orders: json.NewEncoder(in), reports: make(chan report, 1)}
	go func() {
		defer close(c.reports)
		decoder := json.NewDecoder(out)
		for {
			var r report
			if decoder.Decode(&r) != nil {
				return
			}
			c.reports <- r
		}
	}()
	t.Cleanup(c.end)
	return c
}

// tell gives an order and waits for the report.
func (c *child) tell(o order) report {
	c.t.Helper()
	c.give(o)
	return c.report(o.Do)
}

func (c *child) give(o order) {
	c.t.Helper()
	if err := c.orders.Encode(o); err != nil {
		c.t.Fatal(err)
	}
}

// report waits for what the child has to say of an order.
func (c *child) report(on string) report {
	c.t.Helper()
	deadline := time.NewTimer(2 * settleBound)
	defer deadline.Stop()
	select {
	case r, ok := <-c.reports:
		if !ok {
			c.t.Fatalf("the child ended instead of reporting on %q", on)
		}
		return r
	case <-deadline.C:
		c.t.Fatalf("no report on %q", on)
		return report{}
	}
}

// stop stops the child, and returns when none of its threads runs any more.
func (c *child) stop() {
	c.t.Helper()
	if err := redistest.FreezeProcess(c.cmd.Process); err != nil {
		c.t.Fatal(err)
	}
}

// goOn lets a child that was stopped go on.
func (c *child) goOn() {
	c.t.Helper()
	if err := redistest.ThawProcess(c.cmd.Process); err != nil {
		c.t.Fatal(err)
	}
}

// kill ends the child as a crash would: nothing is released.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = c.wait() // killed, it says
}

// end closes the child's input and waits for it to leave.
func (c *child) end() {
	if c.ended {
		return
	}
	_ = c.in.Close()
	_ = redistest.ThawProcess(c.cmd.Process) // a test may have failed in between
	timer := time.AfterFunc(settleBound, func() {
		c.t.Errorf("the child did not end within %v and was killed", settleBound)
		_ = c.cmd.Process.Kill()
	})
	defer timer.Stop()
	if err := c.wait(); err != nil {
		c.t.Errorf("the child: %v", err)
	}
}

func (c *child) wait() error {
	c.ended = true
	_ = c.in.Close()
	for range c.reports { // until its output ends
	}
	return c.cmd.Wait()
}
