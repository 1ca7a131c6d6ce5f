package hold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/internal/wire"
)

const ttl = 3 * time.Second

var errUnlocked = errors.New("unlocked")

// A client has what holds need, on embedded masters in a bubble of virtual time.
type client struct {
	*masters.Bubble
	wire         *wire.Wire
	manager      *hold.Manager
	group        *quorum.Group
	beginClosing context.CancelCauseFunc
	clock        steppedClock
}

// inClient runs a test with three masters.
func inClient(t *testing.T, test func(t *testing.T, c *client)) {
	t.Helper()
	masters.InBubble(t, 3, func(t *testing.T, b *masters.Bubble) {
		c := &client{Bubble: b}
		life, beginClosing := context.WithCancelCause(context.Background())
		c.beginClosing = beginClosing
		b.AtEnd(func() { beginClosing(nil) })
		c.group = &quorum.Group{
			Masters: b.Pipelines(func(i int, c *pipeline.Config) { c.Name = fmt.Sprint("address-", i+1) }),
			Need:    quorum.Need(3), Clock: drift.Cumulative(&c.clock), Closing: life,
			Deliverer: deliver.New(slog.New(slog.DiscardHandler)),
		}
		v := voters.New(voters.Config{Group: c.group, Guard: guard.Config{Level: guard.Off}})
		b.AtEnd(v.Close)
		c.wire = wire.New(wire.Config{
			Ballots: ballot.Config{Group: c.group, Voters: v},
			Pilots:  quorum.NewChooser(c.group.Masters, func(int) bool { return true }), ID: "client", Retention: time.Hour, Longest: time.Minute,
			Successors: nobodyWaits{},
		})
		c.manager = hold.New(hold.Config{
			Group: c.group, Wire: c.wire, Voters: v,
			Validity:  func(ttl time.Duration) time.Duration { return drift.Default.Validity(ttl, 0) },
			Allowance: drift.Default.Allowance, KeyName: func(key string) string { return key },
			Unlocked: errUnlocked, ClientID: "client",
		})
		defer c.manager.Stop()
		synctest.Wait()
		test(t, c)
		synctest.Wait() // answers to releases
	})
}

// want returns a handle for an attempt at a key.
func (c *client) want(key string, o hold.Options) (*hold.Handle, *owner) {
	h, n, own := &hold.Hold{}, &hold.Handle{}, &owner{}
	h.Init(c.manager, own, n, &o, key, key).TTL = ttl
	return n, own
}

// begin begins an acquisition by a handle. It ends with the test.
func (c *client) begin(n *hold.Handle) *hold.Acquisition {
	q := &hold.Acquisition{}
	q.Begin(n, false)
	c.AtEnd(q.End)
	return q
}

// acquire fails the test unless it acquires the lock.
func (c *client) acquire(key string, o hold.Options) (*hold.Handle, *owner) {
	c.T.Helper()
	n, own := c.want(key, o)
	if failed := c.begin(n).All(c.T.Context(), false); failed != nil {
		c.T.Fatalf("not acquired: %+v", failed)
	}
	return n, own
}

// wantOn waits until nothing is under way, and checks how many masters have a key.
func (c *client) wantOn(key string, want int) {
	c.T.Helper()
	if got := c.On(key); got != want {
		c.T.Errorf("%s is on %d masters, want %d", key, got, want)
	}
}

// release fails the test unless it releases the lock.
func (c *client) release(n *hold.Handle) {
	c.T.Helper()
	if _, p := n.Release(c.T.Context()); p != nil {
		c.T.Fatalf("release: %+v", p)
	}
}

// commands returns how many commands the masters have executed.
func (c *client) commands() (n int) {
	for _, m := range c.All {
		for _, k := range m.Commands() {
			n += k
		}
	}
	return n
}

// An owner notes what is reported to it.
type owner struct {
	mu      sync.Mutex
	reports []string
}

func (o *owner) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reports = append(o.reports, fmt.Sprintf(format, args...))
}

// wantReports checks which reports came, in which order. Answered is not noted.
func (o *owner) wantReports(t *testing.T, want ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.reports, want) {
		t.Errorf("the owner was told %q, want %q", o.reports, want)
	}
}

func (o *owner) Context() context.Context            { return context.Background() }
func (o *owner) Answered(context.Context, *wire.Ask) {}
func (o *owner) Cause(l *hold.Loss) error            { return fmt.Errorf("lost: reason %d", l.Reason) }

func (o *owner) Held() { o.note("held") }

func (o *owner) Renewed(r *hold.Renewed) func() {
	count, ok := r.Count, r.Problem == nil
	return func() { o.note("renewed %d %v", count, ok) }
}

func (o *owner) Released(e hold.End) {
	if e.Loss != nil {
		o.note("lost %d", e.Loss.Reason)
		return
	}
	o.note("released")
}

// A steppedClock is the bubble's clock. Its wall clock can be set forward.
type steppedClock struct{ by atomic.Int64 }

func (c *steppedClock) Now() drift.Instant {
	now := time.Now()
	since := now.Sub(time.Unix(0, 0))
	return drift.AtWithoutBoot(since, now.Add(time.Duration(c.by.Load())))
}

type nobodyWaits struct{}

func (nobodyWaits) Released(int, string, wire.Successor) {}
func (nobodyWaits) AnybodyWaits() bool                   { return false }
