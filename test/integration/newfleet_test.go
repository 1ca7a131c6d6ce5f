package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
)

// newFleetBound is how long a newcomer waits: longer than any machine should need. A fleet that
// was adopted instead, behind a quarantine, is told by its markers.
const newFleetBound = 4 * time.Minute

// Forty processes share two processors, and each is so slow that others look between any two
// steps of its declaration.
func TestManyProcessesThatStartAtOnceDeclareANewFleet(t *testing.T) {
	const processes = 40
	p := startProcesses(t, five)
	var children []*child
	began := time.Now()
	for i := range processes {
		c := startChild(t, "newcomer")
		c.must(c.Freeze())
		c.must(c.Order(order{URLs: p.urls, Key: fmt.Sprintf("own-%d", i)}))
		children = append(children, c)
	}
	stop := starve(children)
	defer stop()
	limit := time.After(newFleetBound)
	for i, c := range children {
		select {
		case r := <-c.reports:
			if r == nil || r.Failed != "" {
				t.Errorf("process %d: %+v", i, r)
			}
		case <-limit:
			t.Fatalf("process %d has no lock after %v", i, newFleetBound)
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
	stop()
	for _, c := range children {
		c.must(c.End(settleBound))
	}
}

// starve lets two of the children run at a time, as on two processors, for a moment each and
// seldom, until stop is called. Masters have all the time they want.
func starve(children []*child) (stop func()) {
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
