package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/integration/internal/peer"
)

// newFleetBound is how long a newcomer waits: longer than any machine should need. The markers
// show if the fleet was instead adopted, after a quarantine.
const newFleetBound = 4 * time.Minute

// childVariable turns the test binary into a newcomer.
const childVariable = "REDQUORUM_INTEGRATION_CHILD"

// An order is what a newcomer reads from its standard input, whose end ends it.
type order struct {
	URLs []string
	Key  string // the lock that it is to take
}

// newcomerMain is a program with the library's own settings, except that it waits longer for
// masters. It reports why it has no lock, or "".
func newcomerMain() int {
	orders, failed := json.NewDecoder(os.Stdin), ""
	var o order
	if err := orders.Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := redlock.Open(o.URLs, redlock.WithOutageWait(newFleetBound))
	if err == nil {
		defer func() { _ = c.Close() }()
		ctx, cancel := context.WithTimeout(context.Background(), newFleetBound)
		defer cancel()
		_, err = c.Lock(ctx, o.Key)
	}
	if err != nil {
		failed = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(failed); err != nil {
		return 1
	}
	_ = orders.Decode(&o)
	return 0
}

// Forty processes share two processors. Each is so slow that others look between any two steps of
// its declaration.
func TestManyProcessesThatStartAtOnceDeclareANewFleet(t *testing.T) {
	const processes = 40
	p := startProcesses(t, five)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	reports := make(chan string, processes)
	var children []*peer.Process
	began := time.Now()
	for i := range processes {
		c, err := peer.Start(childVariable, "1", func(said *json.Decoder) {
			failed := "it ended without a word"
			_ = said.Decode(&failed)
			reports <- failed
		})
		must(err)
		t.Cleanup(func() {
			_ = c.Thaw() // the test may have failed in between
			if err := c.End(settleBound); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
		must(c.Freeze())
		must(c.Order(order{URLs: p.urls, Key: fmt.Sprintf("own-%d", i)}))
		children = append(children, c)
	}
	stop := starve(children)
	defer stop()
	limit := time.After(newFleetBound)
	for i := range processes {
		select {
		case failed := <-reports:
			if failed != "" {
				t.Error(failed)
			}
		case <-limit:
			t.Fatalf("%d processes have no lock after %v", processes-i, newFleetBound)
		}
	}
	t.Logf("all %d have their lock %v after the first was started", processes, time.Since(began))
	for i := range p.urls {
		m, err := redis.StringMap(p.command(i, "HGETALL", guard.Key))
		if err != nil {
			t.Fatal(err)
		}
		if m["how"] != guard.HowDeclared || m["since"] != "0" {
			t.Errorf("master %d was not declared: %v", i, m)
		}
	}
}

// starve lets two of the children run at a time, as on two processors, each seldom and for a
// moment, until stop is called. Masters are not slowed down.
func starve(children []*peer.Process) (stop func()) {
	const atOnce, slice, pause = 2, starvedSlice, 60 * time.Millisecond
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i = (i + atOnce) % len(children) {
			turn := children[i : i+atOnce]
			for _, c := range turn {
				_ = c.Thaw()
			}
			time.Sleep(slice)
			for _, c := range turn {
				_ = c.Freeze()
			}
			select {
			case <-quit:
				return
			case <-time.After(pause):
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-done
		for _, c := range children {
			_ = c.Thaw()
		}
	})
}
