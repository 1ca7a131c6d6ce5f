package demo

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/quorum"
)

// The states of masters in a list of causes.
const (
	stateAgreed = "agreed"
	stateFailed = "failed"
	stateMoot   = "moot"
)

// A run is one demonstration.
type run struct {
	Options
	key     string
	total   int // masters
	quorum  int
	clients []Client
	began   time.Time
	result  *Result
	part    int // number of the current part on the screen
}

// sellers is how many clients there are. A lock between goroutines of one client would prove little.
const sellers = 4

// newRun opens the clients, which the caller must close. The error is one of the library about the options.
func newRun(o Options) (*run, error) {
	o.setDefaults()
	r := &run{
		Options: o,
		key:     "demo:inventory:" + xid.New().String(),
		total:   len(o.Cluster.URLs),
		quorum:  quorum.Need(len(o.Cluster.URLs)),
		began:   time.Now(),
	}
	for i := range min(sellers, o.Buyers) {
		c, err := r.openClient(fmt.Sprintf("seller-%d", i+1))
		if err != nil {
			r.closeClients()
			return nil, err
		}
		r.clients = append(r.clients, c)
	}
	r.result = r.newResult()
	return r, nil
}

// Run shows the demonstration on the masters, which stay the caller's, and checks what it expects. It takes about ten
// seconds, longer where a person is asked for help or the masters are slow, and ends soon after ctx does; all locks are
// released then.
//
// The result's verdict tells whether the expectations held. An error says that they could
// not all be checked. It is an *app.UsageError (then there is no result), a
// *explain.NoQuorumError, an *app.OutputError when the screen could not be written to, or the
// cause of ctx. A master that could not be killed or restarted has an error of its own.
func Run(ctx context.Context, o Options) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := newRun(o)
	if err != nil {
		return nil, app.InFlags(err)
	}
	r.Screen.failed = func(err error) { cancel(&app.OutputError{Err: err}) }
	err = r.whole(ctx)
	r.closeClients()
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
			Masters: r.Cluster.Kind, Quorum: r.quorum, Buyers: r.Buyers, Clients: len(r.clients),
			Stock: r.Stock, TTL: Millis(r.TTL), Key: r.key,
		},
		// Lists that are empty are [] in JSON, not null.
		Phases: []Phase{}, Expectations: []Expectation{}, Skipped: []Skipped{}, Masters: []Master{},
	}
}

// whole runs all parts, from the wait for a quorum to the last check.
func (r *run) whole(ctx context.Context) error {
	if err := r.awaitQuorum(ctx); err != nil {
		return err
	}
	r.introduce()
	scenes := []func(context.Context) error{r.withoutLock, r.withLock, r.outages, r.sameFault, r.nothingLeft}
	for _, scene := range scenes {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settleBound is how long to wait for the masters' states to settle before they are shown.
const settleBound = 2 * time.Second

// awaitQuorum waits for a quorum, and then for a moment for the other masters.
func (r *run) awaitQuorum(ctx context.Context) error {
	var err error
	r.Screen.during(
		func() string { return "waiting for a quorum · " + span(time.Since(r.began)) },
		func() { err = r.awaitClients(ctx, r.ready) })
	if err != nil && ctx.Err() == nil {
		r.result.Masters = r.masters()
		return &explain.NoQuorumError{Err: err}
	}
	r.await(ctx, settleBound/2, func() bool { return r.mostGone() == 0 })
	return ctx.Err()
}

// await polls a condition, at most for bound, and reports whether it came true.
func (r *run) await(ctx context.Context, bound time.Duration, met func() bool) bool {
	for end := time.Now().Add(bound); !met(); {
		if time.Now().After(end) || app.Sleep(ctx, 5*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

// masters returns the states of the masters, as the first client sees them.
func (r *run) masters() []Master {
	reports := r.clients[0].Masters()
	masters := make([]Master, len(reports))
	for i := range reports {
		s := see(&reports[i])
		masters[i] = Master{Address: s.master, State: s.state, Cause: brief(s.text)}
		if s.state == seenUp {
			masters[i].RoundTrip = Millis(reports[i].RoundTrip)
		}
	}
	return masters
}

// brief returns a text as one line of at most 60 columns.
func brief(text string) string {
	return term.Shortened(term.Clean(strings.Join(strings.Fields(text), " ")), 60)
}

// gone returns how many masters do not vote, as the first client sees it.
func (r *run) gone() int { return missing(r.clients[0]) }

// mostGone returns the largest number of masters that do not vote, as any client sees it.
func (r *run) mostGone() int {
	most := 0
	for _, c := range r.clients {
		most = max(most, missing(c))
	}
	return most
}

func missing(c Client) int {
	n := 0
	for _, m := range c.Masters() {
		if !m.Votes {
			n++
		}
	}
	return n
}

func (r *run) tolerated() int { return r.total - r.quorum }

// locks returns one lockFunc for each client.
func (r *run) locks() (locks []lockFunc) {
	for _, c := range r.clients {
		locks = append(locks, func(ctx context.Context, work func(context.Context) error) error {
			return c.Do(ctx, r.key, work)
		})
	}
	return locks
}
