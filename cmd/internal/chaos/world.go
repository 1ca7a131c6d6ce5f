package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/redlock"
)

// keptEvents is how many events a World remembers for its Snapshots.
const keptEvents = 100

// lookEvery is how often the referee looks on its own.
const lookEvery = 5 * time.Millisecond

// Contenders is how many there are, each with a client of its own, and DefaultHold about how long each keeps the lock.
const (
	Contenders  = 4
	DefaultHold = 400 * time.Millisecond
)

// Options say what happens in a run.
type Options struct {
	// Options have the masters. Faults are done to masters of our own alone; others are watched.
	stage.Options
	Hold     time.Duration // about how long the lock is held; half to one and a half times
	Duration time.Duration // 0: until Stop, the script's end or the context's
	Script   []stage.Fault

	Told  func(Event) // of every event, one at a time; it must not block for long
	Crash func()      // is called before a panic of a contender ends the process
}

// A World is one run.
type World struct {
	Options
	*stage.Stage
	addresses  []string
	referee    *stage.Referee
	contenders []*stage.Contender
	observer   *observer
	began      atomic.Pointer[time.Time] // from when on time is counted; nil: not yet
	faults     chan stage.Fault
	stopped    context.Context //nolint:containedctx // ends with Stop, which may be called before Run
	// Stop ends the run. It does not wait, and may be called more than once.
	Stop context.CancelFunc

	mu     sync.Mutex // guards what follows, and keeps calls of Told apart
	counts Counts
	events []Event
}

// New prepares a run. The error is one of the library about the options.
func New(o Options) (*World, error) {
	o.Client = append(slices.Clip(o.Client), redlock.WithFencing())
	w := &World{Options: o, faults: make(chan stage.Fault, 64)}
	w.stopped, w.Stop = context.WithCancel(context.Background())
	w.referee = &stage.Referee{Tell: func(text string) { w.tell(EventViolation, "%s", text) }}
	var owners []string
	for n := range Contenders {
		owners = append(owners, fmt.Sprintf("contender-%d", n+1))
	}
	var err error
	if w.Stage, err = stage.New(o.Options, "chaos:", append(owners, "observer")...); err != nil {
		return nil, err
	}
	for n, owner := range owners {
		w.contenders = append(w.contenders, &stage.Contender{
			Name: owner, Guard: stage.Locked(w.Clients[n], w.Key), Referee: w.referee,
			Work: w.hold, Rest: rest, Told: func(t stage.Turn) { w.note(owner, &t) },
		})
	}
	w.observer = &observer{World: w, client: w.Clients[Contenders]}
	for _, m := range w.Clients[Contenders].Masters(context.Background()) {
		w.addresses = append(w.addresses, m.Master)
	}
	return w, nil
}

// hold keeps the lock for a while, or until it is lost.
func (w *World) hold(ctx context.Context) error {
	w.count(func(c *Counts) { c.Acquired++ })
	return app.Sleep(ctx, w.Hold/2+rand.N(w.Hold))
}

// note takes note of what came of an attempt.
func (w *World) note(who string, t *stage.Turn) {
	lost, wasLost := errors.AsType[*redlock.LostError](t.Err)
	switch {
	case wasLost:
		w.count(func(c *Counts) { c.Lost++ })
		w.tell(EventLoss, "%s lost the lock: %s", who, lost.Reason)
	case errors.Is(t.Err, redlock.ErrNoQuorum):
		w.count(func(c *Counts) { c.Refused++ })
	case t.Err != nil: // nothing else is expected
		w.count(func(c *Counts) { c.Failed++ })
		w.tell(EventFailure, "%s: %v", who, t.Err)
	}
}

// longestPause is for how long a contender rests, at most.
const longestPause = 100 * time.Millisecond

func rest(err error) time.Duration {
	if err == nil || errors.Is(err, redlock.ErrLost) || errors.Is(err, redlock.ErrNoQuorum) {
		return rand.N(longestPause)
	}
	return time.Second
}

func (w *World) count(one func(*Counts)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one(&w.counts)
}

func (w *World) elapsed() time.Duration {
	if began := w.began.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
}

// ready waits for every contender to have a quorum, and lets the time begin.
func (w *World) ready(ctx context.Context) {
	_ = w.Ready(ctx, w.ReadyBound()) // the contenders' attempts will tell
	now := time.Now()
	w.began.Store(&now)
}

// Run waits for a quorum, and then contends and does what the script and Inject
// say, until ctx ends, the time is over, or Stop is called. Then all masters that are frozen or cut off
// are let go, everything is unlocked, and the result is given. It may be called
// once.
func (w *World) Run(ctx context.Context) *Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.stopped, cancel)()
	w.ready(ctx)
	if w.Duration > 0 {
		defer time.AfterFunc(w.Duration, w.Stop).Stop()
	}
	var wg sync.WaitGroup
	start := func(f func(context.Context)) {
		wg.Go(func() {
			defer w.crashing()
			f(ctx)
		})
	}
	start(w.act)
	start(w.play)
	start(w.observer.run)
	start(func(ctx context.Context) { app.Every(ctx, lookEvery, w.referee.Look) })
	for _, c := range w.contenders {
		start(c.Run)
	}
	<-ctx.Done()
	lasted := w.elapsed()
	wg.Wait()
	w.closeAll()
	return w.result(lasted)
}

// crashing is deferred by every goroutine of ours: the terminal is given back
// before a panic ends the process.
func (w *World) crashing() {
	if r := recover(); r != nil {
		w.Crash()
		panic(r)
	}
}

// Inject has a fault done now. It does not wait: where too many are waiting already, nothing is done.
func (w *World) Inject(f stage.Fault) {
	select {
	case w.faults <- f:
	default:
	}
}

// act does the faults that are injected, one at a time.
func (w *World) act(ctx context.Context) {
	for {
		select {
		case f := <-w.faults:
			if f.Action == stage.End {
				w.Stop()
				return
			}
			w.do(ctx, f)
		case <-ctx.Done():
			return
		}
	}
}

// do does something to masters of our own, one after the other, and tells of it.
func (w *World) do(ctx context.Context, f stage.Fault) {
	if !w.Own() {
		w.tell(EventFailure, "%v: others run these masters", f)
		return
	}
	for _, n := range f.Masters {
		if ctx.Err() != nil {
			return
		}
		if did, err := w.Do(ctx, f, n); err != nil {
			w.tell(EventFailure, "%s %d: %v", f.Action, n+1, err)
		} else {
			w.tell(EventFault, "%s", did)
		}
	}
}

// play does what the script says. A fault that takes long makes the next one
// late, and the end too.
func (w *World) play(ctx context.Context) {
	for _, f := range w.Script {
		if app.Sleep(ctx, f.At-w.elapsed()) != nil {
			return
		}
		select {
		case w.faults <- f:
		case <-ctx.Done():
			return
		}
	}
}

// closeAll closes everything, and cleans up where others run the masters.
func (w *World) closeAll() {
	w.Close()
	if !w.Own() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanBound)
		defer cancel()
		observe.DeleteLock(ctx, w.URLs, w.Key, w.PoolOptions()...)
	}
}

// cleanBound is how long masters that others run have to delete our keys.
const cleanBound = time.Second

// tell tells of an event.
func (w *World) tell(kind Kind, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := Event{AtMS: w.elapsed().Milliseconds(), Kind: kind, Text: fmt.Sprintf(format, args...)}
	if len(w.events) == keptEvents {
		w.events = slices.Delete(w.events, 0, 1)
	}
	w.events = append(w.events, e)
	w.Told(e)
}

// Snapshot is how everything stands.
func (w *World) Snapshot() Snapshot {
	s := Snapshot{
		Begun: w.began.Load() != nil, Elapsed: w.elapsed(), Quorum: w.Quorum, Check: w.referee.Count(),
		Masters: make([]MasterRow, len(w.addresses)),
	}
	copy(s.Masters, w.observer.seen())
	for i := range s.Masters {
		row := &s.Masters[i]
		row.Address, row.State = w.addresses[i], row.Seen.State
		if w.Own() {
			row.State = w.Condition(i).String()
		}
		if row.Serves() {
			s.Serving++
		}
	}
	s.Holder, s.Left = w.referee.Holder()
	for _, c := range w.contenders {
		s.Contenders = append(s.Contenders, c.Doing())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Counts, s.Events = w.counts, slices.Clone(w.events)
	return s
}
