package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const (
	// commandTimeout is how long clients wait for one master. It is far more than a round trip
	// takes on a busy machine, so that an operation that waits for it stands out.
	commandTimeout = 500 * time.Millisecond
	// lookEvery is how often a client looks at its masters and its locks.
	lookEvery = 20 * time.Millisecond
	// leaveBound is how long a closed client's goroutines may take to end: a TTL,
	// though Close waits for them.
	leaveBound = rowTTL
)

// A client is one process of the load.
type client struct {
	spec   spec
	lib    *redlock.Client
	clock  *steppedClock
	ctx    context.Context // ends with the load
	stop   context.CancelFunc
	act    chan struct{} // closed by the order to act
	acting sync.Once

	mu     sync.Mutex // guards events
	events *json.Encoder
	broken atomic.Bool // nobody reads the events
}

// clientMain is the process's main. Its exit code is 0 unless it cannot work.
func clientMain() int {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	c := &client{act: make(chan struct{}), events: json.NewEncoder(os.Stdout)}
	if err := in.Decode(&c.spec); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 2
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	if err := c.open(); err != nil {
		c.report(event{Kind: eventBye, Failed: failedOther, Text: err.Error()})
		return 0
	}
	c.report(event{Kind: eventReady, At: now()})
	var workers sync.WaitGroup
	for i, w := range c.spec.Workers {
		workers.Go(func() { c.work(i, w) })
	}
	workers.Go(c.watchMasters)
	for i := range c.spec.URLs {
		go c.pulse(i) // ends with the process: it may wait for a master that is cut off
	}
	go c.heed(in) // ends with the process: nothing else ends the reading of its input
	<-c.ctx.Done()
	workers.Wait()
	bye := event{Kind: eventBye, At: now()}
	bye.classify(c.lib.Close())
	bye.End = now()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	bye.Memory = memory.Sys
	if left := left(); left != "" {
		bye.Failed, bye.Text = failedOther, left
	}
	c.report(bye)
	return 0
}

func left() string {
	var stacks []string
	for deadline := time.Now().Add(leaveBound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if stacks = testutil.Goroutines(testutil.Library...); len(stacks) == 0 {
			return ""
		}
	}
	return fmt.Sprintf("%d goroutines are left:\n%s", len(stacks), strings.Join(stacks, "\n\n"))
}

func (c *client) open() (err error) {
	s := c.spec
	timeout := s.Timeout
	if timeout == 0 {
		timeout = commandTimeout
	}
	maxTTL := s.MaxTTL
	if maxTTL == 0 {
		maxTTL = s.TTL
	}
	c.clock = newSteppedClock(s.Clock)
	opts := []redlock.Option{
		redlock.WithTTL(s.TTL), redlock.WithMaxTTL(maxTTL), redlock.WithOutageWait(0),
		redlock.WithPool(pool.WithCommandTimeout(timeout), pool.WithBackoff(10*time.Millisecond, 200*time.Millisecond)),
	}
	opts = append(opts, redlock.WithTrace(&redlock.Trace{Clock: func(master string, d *drift.Deviation, _ time.Time) {
		c.report(event{Kind: eventClock, At: now(), Text: fmt.Sprintf("%s: %s", master, d)})
	}}))
	if s.Clock != 0 || s.Movable {
		opts = append(opts, redlock.WithClock(c.clock))
	}
	if s.Level != "" {
		opts = append(opts, redlock.WithGuard(levels[s.Level]))
	}
	c.lib, err = redlock.Open(s.URLs, opts...)
	return err
}

// heed carries out orders until its input ends, which is an order to stop.
func (c *client) heed(in *json.Decoder) {
	defer c.stop()
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "client:", err)
			}
			return
		}
		switch o.Do {
		case "stop":
			return
		case "step":
			c.clock.set(o.Clock)
		case "act":
			c.acting.Do(func() { close(c.act) })
		}
	}
}

// report writes an event. It is written even if the client is killed in the next moment.
func (c *client) report(e event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events.Encode(e) != nil && !c.broken.Swap(true) {
		c.stop() // the test is gone
	}
}

// watchMasters reports which masters can be used.
func (c *client) watchMasters() {
	reported := ""
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		usable, whys := uint64(0), []string(nil)
		for i, m := range c.lib.Masters() {
			why := ""
			switch {
			case m.Why != nil:
				why = m.Why.Error()
			case m.Err != nil:
				why = m.Err.Error()
			}
			if m.Votes {
				usable |= 1 << i
			}
			whys = append(whys, why)
		}
		if state := fmt.Sprint(usable, inWords(whys)); state != reported {
			c.report(event{Kind: eventMasters, At: now(), Usable: usable, Whys: whys})
			reported = state
		}
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
	}
}

// inWords joins texts without their numbers, which may change with every look.
func inWords(texts []string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, strings.Join(texts, "; "))
}

// A steppedClock is this machine's clock, with a wall time that is off.
type steppedClock struct {
	origin drift.Instant
	offset atomic.Int64
}

func newSteppedClock(offset time.Duration) *steppedClock {
	c := &steppedClock{origin: drift.System().Now()}
	c.set(offset)
	return c
}

func (c *steppedClock) set(offset time.Duration) { c.offset.Store(int64(offset)) }

func (c *steppedClock) Now() drift.Instant {
	n := drift.System().Now()
	return drift.AtWithoutBoot(n.MonotonicSub(c.origin), n.Wall().Add(time.Duration(c.offset.Load())))
}
