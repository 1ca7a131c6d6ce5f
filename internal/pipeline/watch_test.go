package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A recorder is a Watcher that records its calls, and sends commands first on each connection.
type recorder struct {
	t     *testing.T
	first []string // commands for every connection

	mu      sync.Mutex // guards what follows
	events  []string
	waiters []*waiter
}

func (r *recorder) CameUp(epoch uint64, runID string) (calls []*Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("up %d %.4s", epoch, runID))
	for _, cmd := range r.first {
		w := newWaiter(r.t, cmd)
		r.waiters = append(r.waiters, w)
		calls = append(calls, w.call)
	}
	return calls
}

func (r *recorder) SilenceChanged() {}

func (r *recorder) WentDown(epoch uint64, cause error, redialing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause == nil {
		r.t.Error("down without a cause")
	}
	r.events = append(r.events, fmt.Sprintf("down %d %v", epoch, redialing))
}

func (r *recorder) all() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, ", ")
}

func TestAWatcherIsNotifiedOfEveryConnectionAndItsCallsAreSentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		r := &recorder{t: t, first: []string{"FIRST"}}
		p.Watch(r)
		if got := r.all(); got != "down 0 true" {
			t.Errorf("before the first dial: %s", got)
		}
		queued := start(t, p, "QUEUED")
		g.next <- errRefused
		queued.wait()
		if got := r.all(); got != "down 0 true, down 0 false" {
			t.Errorf("after a dial that failed: %s", got)
		}
		g.next <- nil
		if got := r.all(); !strings.HasSuffix(got, ", up 1 0123") {
			t.Errorf("after a dial: %s", got)
		}
		late := &recorder{t: t, first: []string{"LATE"}}
		p.Watch(late)
		if got := late.all(); got != "up 1 0123" {
			t.Errorf("the later watcher: %s", got)
		}
		_ = s.conn(1).Close()
		if got := late.all(); got != "up 1 0123, down 1 true" {
			t.Errorf("after the loss: %s", got)
		}
		queued = start(t, p, "QUEUED")
		p.Unwatch(r)
		g.next <- nil
		queued.wait()
		if got := late.all(); got != "up 1 0123, down 1 true, up 2 0123" {
			t.Errorf("after the second dial: %s", got)
		}
		if got := r.all(); strings.Contains(got, "up 2") {
			t.Errorf("it watches no more: %s", got)
		}
		var served []string
		for _, c := range s.conn(2).seen() {
			served = append(served, c[0])
		}
		if i := slices.Index(served, "LATE"); i < 0 || slices.Index(served, "QUEUED") < i {
			t.Errorf("on the second connection: %q", served)
		}
		p.Renew(1, errors.New("an old one"))
		if got := late.all(); strings.Contains(got, "down 2") {
			t.Errorf("an epoch that is over is renewed: %s", got)
		}
		time.Sleep(time.Second) // so that the loss is no failure
		p.Renew(2, errors.New("READONLY"))
		if got := late.all(); !strings.HasSuffix(got, ", down 2 true") {
			t.Errorf("after Renew: %s", got)
		}
		g.next <- nil
		if got := late.all(); !strings.HasSuffix(got, ", up 3 0123") {
			t.Errorf("after the third dial: %s", got)
		}
		for _, w := range append(r.waiters, late.waiters...) {
			if c := w.wait(); c.Err != nil || c.Epoch == 0 {
				t.Errorf("%s on connection %d: %v", c.Cmd, c.Epoch, c.Err)
			}
		}
	})
}
