// Package observe asks masters what locks do not need: queues, markers, INFO, TIME, CONFIG GET.
package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/seam"
	"github.com/redquorum/redquorum/pool"
)

// A Master is a master that can be asked. It is safe for concurrent use.
type Master struct {
	line  *pipeline.Pipeline
	clock drift.Clock
}

// mastersOf returns the masters of a pool. The pool closes their connections.
func mastersOf(p *pool.Pool) (masters []*Master) {
	for _, line := range seam.Pipelines(p) {
		masters = append(masters, &Master{line: line, clock: drift.System()})
	}
	return masters
}

// Name is the master's address.
func (m *Master) Name() string { return m.line.Name() }

// Stats returns the state of the connection.
func (m *Master) Stats() pool.Stats { return pool.Stats(m.line.Stats()) }

// connectPoll is how often Connect looks.
const connectPoll = 2 * time.Millisecond

// Connect waits until the master is connected. The error says why it is not;
// pool.ErrTimeout: ctx ended before that was known.
func (m *Master) Connect(ctx context.Context) error {
	for {
		switch s := m.line.Stats(); {
		case s.Connected:
			return nil
		case !errors.Is(s.Err, pipeline.ErrConnecting):
			return &pipeline.DownError{Cause: s.Err}
		}
		if app.Sleep(ctx, connectPoll) != nil {
			return pool.ErrTimeout
		}
	}
}

// Each calls f for all masters at once, and returns when all calls have returned.
func Each(masters []*Master, f func(i int, m *Master)) {
	var wg sync.WaitGroup
	for i, m := range masters {
		wg.Go(func() { f(i, m) })
	}
	wg.Wait()
}

// An Answer is the answer to a command, or why there is none.
type Answer struct {
	Reply          any // as redigo parses it
	Err            error
	Sent, Received drift.Instant
}

// RoundTrip is how long the answer took, queueing included.
func (a *Answer) RoundTrip() time.Duration { return a.Received.Sub(a.Sent) }

// Do sends a command and waits for the answer. If ctx ends before, the error is pool.ErrTimeout.
func (m *Master) Do(ctx context.Context, cmd string, args ...any) *Answer {
	q := &question{done: make(chan struct{}), clock: m.clock}
	call := &pipeline.Call{Command: &pipeline.Command{
		Cmd:     cmd,
		Encoded: pipeline.AppendCommand(nil, cmd, args...),
		Owner:   q,
	}}
	a := &Answer{Sent: m.clock.Now()}
	m.line.Enqueue(call)
	select {
	case <-q.done:
		a.Reply, a.Err, a.Received = call.Reply, call.Err, q.received
	case <-ctx.Done():
		a.Err, a.Received = pool.ErrTimeout, m.clock.Now()
	}
	return a
}

// A question is the owner of one call.
type question struct {
	clock    drift.Clock
	done     chan struct{}
	received drift.Instant // set before done is closed
}

func (q *question) Abandoned(*pipeline.Call) bool { return false }
func (q *question) Delayed(*pipeline.Call, error) {}
func (q *question) Complete(*pipeline.Call) {
	q.received = q.clock.Now()
	close(q.done)
}
