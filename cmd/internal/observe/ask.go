// Package observe asks masters what no lock has to: who waits, what a marker says, INFO, TIME, CONFIG GET.
package observe

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/inpool"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

// A Master is one that can be asked. It is safe for concurrent use.
type Master struct {
	pool  *pool.Pool // nil: it is one of a Fleet, which closes it
	line  *pipeline.Pipeline
	clock drift.Clock
}

// Open starts to connect to the master at the URL and does not wait. The caller
// must Close it.
func Open(url string, opts ...pool.Option) (*Master, error) {
	p, err := pool.New([]string{url}, opts...)
	if err != nil {
		return nil, err
	}
	m := newMaster(inpool.Pipelines(p)[0])
	m.pool = p
	return m, nil
}

func newMaster(line *pipeline.Pipeline) *Master { return &Master{line: line, clock: drift.System()} }

// Close ends the connection, and waits for what is under way to fail.
func (m *Master) Close() { _ = m.pool.Close() }

// Name is the master's address.
func (m *Master) Name() string { return m.line.Name() }

// DB is the number of the database that it is asked in.
func (m *Master) DB() int { return m.line.DB() }

// Stats is how the connection stands.
func (m *Master) Stats() pool.Stats { return pool.Stats(m.line.Stats()) }

// CertificateExpires is when the first certificate of the chain does that the master has shown; zero: it shows none.
func (m *Master) CertificateExpires() time.Time { return m.line.CertificateExpires() }

// connectPoll is how often Connect looks.
const connectPoll = 2 * time.Millisecond

// Connect waits until the master is connected, or cannot be. ctx bounds it. The
// error says why not, and is nil when ctx ended before that was known.
func (m *Master) Connect(ctx context.Context) (up bool, err error) {
	t := time.NewTicker(connectPoll)
	defer t.Stop()
	for {
		if s := m.line.Stats(); s.Connected || !errors.Is(s.Err, pipeline.ErrConnecting) {
			return s.Connected, s.Err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// An Answer is what became of a question.
type Answer struct {
	Reply          any // as redigo parses it
	Err            error
	Sent, Received drift.Instant
}

// RoundTrip is how long the answer took, queueing included.
func (a *Answer) RoundTrip() time.Duration { return a.Received.Sub(a.Sent) }

// Do sends a command and waits for the answer, at most until ctx ends: the error
// is then pool.ErrTimeout.
func (m *Master) Do(ctx context.Context, cmd string, args ...any) *Answer {
	q := &question{done: make(chan struct{}), clock: m.clock}
	call := &pipeline.Call{Command: &pipeline.Command{Cmd: cmd, Encoded: pipeline.AppendCommand(nil, cmd, args...), Owner: q}}
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
