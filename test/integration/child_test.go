package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// childVariable turns the test binary into another process that takes part in a
// test, in the role that it names.
const childVariable = "REDQUORUM_INTEGRATION_CHILD"

// An order is what a child is told, and a report what it answers: one JSON value
// each, on standard input and output. The end of its input ends the child.
type order struct {
	URLs []string
	Key  string // of the lock that it shall take; "": it shall connect to all masters
	TTL  time.Duration
}

type report struct {
	Failed string
	Is     []string // the sentinels that the error matches
}

// A role is how a child opens its client, and takes a lock.
type role struct {
	open func(o order) (*redlock.Client, error)
	lock func(c *redlock.Client, o order) (*redlock.Lock, error)
}

var roles = map[string]role{
	// Patient: a test stops masters and the child in the middle of its one attempt.
	"holder": {
		func(o order) (*redlock.Client, error) {
			return redlock.Open(o.URLs, redlock.WithGuard(redlock.GuardOff), redlock.WithPool(pool.WithCommandTimeout(settleBound)))
		},
		func(c *redlock.Client, o order) (*redlock.Lock, error) {
			return c.TryLock(context.Background(), o.Key, redlock.WithTTL(o.TTL))
		},
	},
	// A program with the library's own settings, but that it waits for masters for longer.
	"newcomer": {
		func(o order) (*redlock.Client, error) {
			return redlock.Open(o.URLs, redlock.WithOutageWait(newFleetBound))
		},
		func(c *redlock.Client, o order) (*redlock.Lock, error) {
			ctx, cancel := context.WithTimeout(context.Background(), newFleetBound)
			defer cancel()
			return c.Lock(ctx, o.Key)
		},
	},
}

// childMain carries out orders, of which the first opens the client.
func childMain(name string) int {
	orders, reports := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	var c *redlock.Client
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			if c != nil {
				_ = c.Close()
			}
			return 0
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if c == nil {
			var err error
			if c, err = roles[name].open(o); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		var r report
		if o.Key == "" {
			for connected(c) < len(o.URLs) {
				time.Sleep(time.Millisecond)
			}
		} else if _, err := roles[name].lock(c, o); err != nil {
			r.Failed = err.Error()
			for _, s := range sentinels {
				if errors.Is(err, s) {
					r.Is = append(r.Is, s.Error())
				}
			}
		}
		if err := reports.Encode(r); err != nil {
			return 1
		}
	}
}

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
	return c.report()
}

func (c *child) give(o order) {
	c.t.Helper()
	if err := c.orders.Encode(o); err != nil {
		c.t.Fatal(err)
	}
}

// report waits for what the child has to say of its order.
func (c *child) report() report {
	c.t.Helper()
	deadline := time.NewTimer(2 * settleBound)
	defer deadline.Stop()
	select {
	case r, ok := <-c.reports:
		if !ok {
			c.t.Fatal("the child ended instead of reporting")
		}
		return r
	case <-deadline.C:
		c.t.Fatal("no report")
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
