package stage

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/redlock"
)

// A Guard lets one contender at a time do its work: a lock does, or nobody.
type Guard func(ctx context.Context, work func(ctx context.Context) error) error

// Locked is the guard of the real thing.
func Locked(c Client, key string) Guard {
	return func(ctx context.Context, work func(ctx context.Context) error) error { return c.Do(ctx, key, work) }
}

// Unguarded is the lock that is missing.
func Unguarded(ctx context.Context, work func(ctx context.Context) error) error { return work(ctx) }

// ErrEnough is given by the work of a contender that has had enough.
var ErrEnough = errors.New("enough")

// A Contender wants to do its work again and again, while nobody else does.
type Contender struct {
	Name    string
	Guard   Guard
	Referee *Referee
	Work    func(ctx context.Context) error // ctx ends with the lock, if not before
	Told    func(Turn)                      // of a turn, unless the end of the run cut it short
	Rest    func(err error) time.Duration   // between two turns, by how the first one ended

	state atomic.Int32
}

// A Turn is one attempt, and what came of it.
type Turn struct {
	Called, Granted, Done time.Time // when the lock was asked for, acquired (0: not), and given back
	Worked                bool      // the work was done
	Err                   error
}

// Refused is the error of a turn that was refused for want of a quorum; false: it was not.
func (t *Turn) Refused() (*redlock.QuorumError, bool) {
	if !errors.Is(t.Err, redlock.ErrNoQuorum) {
		return nil, false
	}
	return errors.AsType[*redlock.QuorumError](t.Err)
}

// What a contender does.
const (
	waits int32 = iota
	holds
	pauses
)

// Doing is what it does now: it waits, holds or pauses.
func (c *Contender) Doing() string {
	return [...]string{waits: "waits", holds: "holds", pauses: "pauses"}[c.state.Load()]
}

// Run contends until ctx ends, or the work gives ErrEnough.
func (c *Contender) Run(ctx context.Context) {
	for ctx.Err() == nil {
		t := c.turn(ctx)
		if errors.Is(t.Err, ErrEnough) {
			return
		}
		if t.Worked || ctx.Err() == nil || errors.Is(t.Err, redlock.ErrLost) {
			c.Told(t)
		}
		c.state.Store(pauses)
		_ = app.Sleep(ctx, c.Rest(t.Err)) // the loop looks at ctx
	}
}

func (c *Contender) turn(ctx context.Context) Turn {
	c.state.Store(waits)
	t := Turn{Called: time.Now()}
	t.Err = c.Guard(ctx, func(ctx context.Context) error {
		t.Granted = time.Now()
		c.state.Store(holds)
		defer c.Referee.Enter(ctx, c.Name)()
		err := c.Work(ctx)
		t.Worked = err == nil
		return err
	})
	t.Done = time.Now()
	return t
}
