package demo

import (
	"cmp"
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// What a master had to do with a refusal.
const (
	stateAgreed = "agreed"
	stateFailed = "failed"
	stateMoot   = "moot"
)

// A run is one demonstration.
type run struct {
	Options
	*stage.Stage
	total  int // masters
	began  time.Time
	result *Result
	part   int // of the run, as it is numbered on the screen
}

// Run shows the demonstration on the masters, which stay the caller's, and checks what it expects. It takes about ten
// seconds, longer where a person is asked for help or the masters are slow, and ends soon after ctx does; all locks are
// released then.
//
// The result's verdict tells whether the expectations held. An error says that they could not all be checked. It is an
// *app.UsageError (then there is no result), a *say.NoQuorumError, an *app.OutputError when the screen could not be written
// to, or the cause of ctx. A master that could not be killed or restarted has an error of its own.
func Run(ctx context.Context, o Options) (*Result, error) {
	o.setDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.Screen.onError(func(err error) { cancel(&app.OutputError{Err: err}) })

	// Several clients: a lock between the goroutines of one client alone would be no great feat.
	owners := []string{"seller-1", "seller-2", "seller-3", "seller-4"}
	s, err := stage.New(o.Masters, "demo:inventory:", owners[:min(len(owners), o.Buyers)]...)
	if err != nil {
		return nil, app.InFlags(err)
	}
	r := &run{Options: o, Stage: s, total: len(s.URLs), began: time.Now()}
	r.ready = cmp.Or(r.ready, s.ReadyBound())
	r.result = r.newResult()

	err = r.whole(ctx)
	s.Close()
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	r.conclude(ctx, err)
	return r.result, err
}

func (r *run) newResult() *Result {
	return &Result{
		Started:  r.began.UTC().Truncate(time.Millisecond),
		Versions: Versions{Program: r.Version, Go: runtime.Version(), Masters: r.Cluster.Version},
		Settings: Settings{
			Masters: r.Cluster.Kind, Quorum: r.Quorum, Buyers: r.Buyers, Clients: len(r.Clients),
			Stock: r.Stock, TTL: Millis(r.TTL), Key: r.Key,
		},
		// Lists that are empty are [] in JSON, not null.
		Phases: []Phase{}, Expectations: []Expectation{}, Skipped: []Skipped{}, Masters: []Master{},
	}
}

// whole is the run from the first attempt to the last check.
func (r *run) whole(ctx context.Context) error {
	if err := r.awaitQuorum(ctx); err != nil {
		return err
	}
	r.introduce()
	for _, scene := range []func(context.Context) error{r.withoutLock, r.withLock, r.outages, r.sameFault, r.nothingLeft} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settleBound is how long the view of the masters may take to settle; what is
// shown is then shown as it is.
const settleBound = 2 * time.Second

// awaitQuorum waits for a quorum, and then for a moment for the other masters.
func (r *run) awaitQuorum(ctx context.Context) error {
	var err error
	r.Screen.during(func() string { return "waiting for a quorum · " + span(time.Since(r.began)) }, func() { err = r.Ready(ctx, r.ready) })
	if err != nil && ctx.Err() == nil {
		r.result.Masters = r.masters()
		return &say.NoQuorumError{Err: err}
	}
	r.await(ctx, settleBound/2, func() bool { return r.mostGone() == 0 })
	return ctx.Err()
}

// await polls a condition, for bound at the most, and reports whether it came
// true.
func (r *run) await(ctx context.Context, bound time.Duration, met func() bool) bool {
	for end := time.Now().Add(bound); !met(); {
		if time.Now().After(end) || app.Sleep(ctx, 5*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

// masters is how the masters stand, as the first client sees them.
func (r *run) masters() []Master {
	reports := r.Clients[0].Masters(context.Background())
	masters := make([]Master, len(reports))
	for i, m := range reports {
		seen := stage.See(&m, nil)
		masters[i] = Master{Address: m.Master, State: seen.State, Cause: brief(seen.Text)}
		if seen.State == stage.SeenUp {
			masters[i].Cause, masters[i].RoundTrip = "", Millis(m.RoundTrip)
		}
	}
	return masters
}

// brief is a text in one line of at most 60 columns.
func brief(text string) string {
	return term.Shortened(term.Clean(strings.Join(strings.Fields(text), " ")), 60)
}

// gone is how many masters the first client misses.
func (r *run) gone() int { return missing(r.Clients[0]) }

// mostGone is how many masters the client misses that misses most.
func (r *run) mostGone() int {
	most := 0
	for _, c := range r.Clients {
		most = max(most, missing(c))
	}
	return most
}

func missing(c stage.Client) int {
	n := 0
	for _, m := range c.Masters(context.Background()) {
		if !m.Votes {
			n++
		}
	}
	return n
}

func (r *run) tolerated() int { return r.total - r.Quorum }

// guards is one a client.
func (r *run) guards() []stage.Guard {
	guards := make([]stage.Guard, len(r.Clients))
	for i, c := range r.Clients {
		guards[i] = stage.Locked(c, r.Key)
	}
	return guards
}
