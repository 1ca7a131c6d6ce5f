package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
)

// States of a Master.
const (
	stateUp   = "up"
	stateGone = "gone"
	// stateAbstains is of one that is there and may not vote, after a restart for
	// example: it counts no more than one that is gone.
	stateAbstains = "abstains"
	stateAgreed   = "agreed"
	stateFailed   = "failed"
	stateMoot     = "moot"
)

// A run is one demonstration.
type run struct {
	Options
	cluster Cluster
	clients []Client
	total   int // masters
	quorum  int
	key     string
	began   time.Time
	result  *Result
	part    int // of the run, as it is numbered on the screen
}

// Run shows the demonstration on the masters of the cluster, which stays the
// caller's, and checks what it expects. It takes about ten seconds, longer
// where a person is asked for help or the masters are slow, and ends soon after
// ctx does; all locks are released then.
//
// The result's verdict tells whether the expectations held. An error says that they
// could not all be checked. It is an *InputError (then there is no result), a
// *NoQuorumError, an *OutputError when the screen could not be written to, or the cause
// of ctx. A master that could not be killed or restarted has an error of its own.
func Run(ctx context.Context, cluster Cluster, o Options) (*Result, error) {
	return conduct(ctx, cluster, o, func(ctx context.Context, r *run) error {
		defer r.closeClients()
		return r.whole(ctx)
	})
}

// conduct prepares a run, lets whole show it, and concludes it.
func conduct(ctx context.Context, cluster Cluster, o Options, whole func(ctx context.Context, r *run) error) (*Result, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.Screen.onError(func(err error) { cancel(&OutputError{err}) })

	r := &run{Options: o, cluster: cluster, total: len(cluster.URLs()), began: time.Now()}
	r.quorum = quorum.Need(r.total)
	r.key = "demo:inventory:" + xid.New().String()
	r.result = r.newResult()

	err := whole(ctx, r)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		return nil, input
	}
	r.conclude(ctx, err)
	return r.result, err
}

// An OutputError says that the screen could not be written to.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return fmt.Sprintf("writing the output: %v", e.Err) }

// Unwrap gives Err.
func (e *OutputError) Unwrap() error { return e.Err }

func (r *run) newResult() *Result {
	return &Result{
		Started:  r.began.UTC().Truncate(time.Millisecond),
		Versions: Versions{Program: r.Version, Go: runtime.Version(), Masters: r.cluster.Version()},
		Settings: Settings{
			Masters: r.cluster.Kind(), Quorum: r.quorum, Buyers: r.Buyers, Clients: min(sellers, r.Buyers),
			Stock: r.Stock, TTL: Millis(r.TTL), Seed: r.Seed, Key: r.key,
		},
		// Lists that are empty are [] in JSON, not null.
		Phases: []Phase{}, Expectations: []Expectation{}, Skipped: []Skipped{}, Masters: []Master{},
	}
}

// whole is the run from the first client to the last check.
func (r *run) whole(ctx context.Context) error {
	if r.MaxTTL == 0 {
		r.MaxTTL = max(MaxTTL, r.TTL) // which is what clients have by default
		if _, owned := r.cluster.(Owner); owned {
			r.MaxTTL = r.TTL    // a master that was restarted votes again the sooner
			r.ready += r.MaxTTL // masters that take a second to answer are not taken for new
		}
	}
	if err := r.openClients(); err != nil {
		return err
	}
	if err := r.awaitQuorum(ctx); err != nil {
		return err
	}
	r.introduce()
	if err := r.withoutLock(ctx); err != nil {
		return err
	}
	if err := r.withLock(ctx); err != nil {
		return err
	}
	if err := r.outages(ctx); err != nil {
		return err
	}
	r.result.Masters = r.masters()
	r.closeClients()
	return r.nothingLeft(ctx)
}

// openClients makes the clients: several, since a lock between the goroutines
// of one client alone would be no great feat.
func (r *run) openClients() error {
	for n := range min(sellers, r.Buyers) {
		c, err := r.Open(r.cluster.URLs(), r.clientOptions(n+1)...)
		if err != nil {
			return inputError(err)
		}
		r.clients = append(r.clients, c)
	}
	return nil
}

// closeClients may be called more than once.
func (r *run) closeClients() {
	var wg sync.WaitGroup
	for _, c := range r.clients {
		wg.Go(func() { _ = c.Close() }) // its only error is that of a pool, which has none
	}
	wg.Wait()
}

// settleBound is how long the view of the masters may take to settle; what is
// shown is then shown as it is.
const settleBound = 2 * time.Second

// awaitQuorum waits for a quorum, and then for a moment for the other masters.
func (r *run) awaitQuorum(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.ready)
	defer cancel()
	for _, c := range r.clients {
		if err := c.Ready(bounded); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.result.Masters = r.masters()
			return &NoQuorumError{Waited: r.ready, Quorum: r.quorum, Masters: r.result.Masters}
		}
	}
	r.await(ctx, settleBound/2, func() bool { return r.mostGone() == 0 })
	return ctx.Err()
}

// await polls a condition, for bound at the most, and reports whether it came
// true.
func (r *run) await(ctx context.Context, bound time.Duration, met func() bool) bool {
	for end := time.Now().Add(bound); !met(); {
		if time.Now().After(end) || sleep.For(ctx, 5*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

// masters is how the masters stand, as the first client sees them.
func (r *run) masters() []Master { return mastersOf(r.clients[0]) }

// A viewer knows how masters stand.
type viewer interface {
	Masters(ctx context.Context) []redlock.MasterReport
}

func mastersOf(v viewer) []Master {
	reports := v.Masters(context.Background())
	masters := make([]Master, len(reports))
	for i, m := range reports {
		masters[i] = Master{Address: m.Master, State: stateUp, RoundTrip: Millis(m.RoundTrip)}
		if !m.Connected {
			masters[i] = Master{Address: m.Master, State: stateGone, Cause: cause(m.Err)}
		} else if !m.Votes {
			masters[i] = Master{Address: m.Master, State: stateAbstains, Cause: cause(m.Why)}
		}
	}
	return masters
}

// gone is how many masters the first client misses.
func (r *run) gone() int { return missing(r.clients[0]) }

// mostGone is how many masters the client misses that misses most.
func (r *run) mostGone() int {
	most := 0
	for _, c := range r.clients {
		most = max(most, missing(c))
	}
	return most
}

func missing(c viewer) int {
	n := 0
	for _, m := range c.Masters(context.Background()) {
		if !m.Votes {
			n++
		}
	}
	return n
}

func (r *run) tolerated() int { return r.total - r.quorum }

// guards is one a client.
func (r *run) guards() []guard {
	guards := make([]guard, len(r.clients))
	for i, c := range r.clients {
		guards[i] = byLock(c, r.key)
	}
	return guards
}
