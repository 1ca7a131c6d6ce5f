package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/integration/internal/peer"
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
	*peer.Process
	t       *testing.T
	reports chan *report // closed when the child's output has ended
}

// startChild starts the test binary once more, in a role. It ends with the test.
func startChild(t *testing.T, role string) *child {
	t.Helper()
	c := &child{t: t, reports: make(chan *report, 1)}
	var err error
	c.Process, err = peer.Start(childVariable, role, func(reports *json.Decoder) {
		defer close(c.reports)
		for {
			r := new(report)
			if reports.Decode(r) != nil {
				return
			}
			c.reports <- r
		}
	})
	c.must(err)
	t.Cleanup(func() {
		_ = c.Thaw() // a test may have failed in between
		if err := c.End(settleBound); err != nil {
			t.Errorf("the child: %v", err)
		}
	})
	return c
}

func (c *child) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// tell gives an order and waits for the report.
func (c *child) tell(o order) report {
	c.t.Helper()
	c.must(c.Order(o))
	return c.report()
}

// report waits for what the child has to say of its order.
func (c *child) report() report {
	c.t.Helper()
	r := testutil.Await(c.t, 2*settleBound, "the child reports", c.reports)
	if r == nil {
		c.t.Fatal("the child ended instead of reporting")
	}
	return *r
}
