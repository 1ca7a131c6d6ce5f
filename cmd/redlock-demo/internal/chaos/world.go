package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
)

// keptEvents is how many events a World remembers for its Snapshots.
const keptEvents = 100

// lookEvery is how often the referee looks on its own.
const lookEvery = 5 * time.Millisecond

// A World is one run.
type World struct {
	Options
	key        string
	need       int
	addresses  []string
	breaker    demo.Breaker // nil: others run the masters
	network    *network     // as breaker
	referee    *referee
	contenders []*contender
	observer   *observer
	began      atomic.Pointer[time.Time]
	begun      atomic.Bool
	faults     chan Fault
	stop       chan struct{}
	stopping   sync.Once
	counters   struct{ acquired, refused, lost, failed atomic.Int64 }

	mu         sync.Mutex // guards what follows, and keeps calls of Told apart
	events     []Event
	conditions []condition // of the masters
}

// New prepares a run. The error is one of the library about the options.
func New(o Options) (made *World, err error) {
	o.setDefaults()
	w := &World{
		Options: o, key: "chaos:" + xid.New().String(),
		faults: make(chan Fault, 64), stop: make(chan struct{}),
	}
	w.start()
	w.referee = &referee{tell: func(text string) { w.tell(EventViolation, "%s", text) }}
	urls := o.Cluster.URLs()
	w.need = quorum.Need(len(urls))
	w.conditions = make([]condition, len(urls))
	if w.breaker, _ = o.Cluster.(demo.Breaker); w.breaker != nil {
		if err := w.connect(urls); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			w.closeAll()
		}
	}()
	for n := range o.Contenders {
		name := contenderName(n)
		client, err := redlock.Open(urls, o.clientOptions(name, w.network)...)
		if err != nil {
			return nil, err
		}
		w.contenders = append(w.contenders, &contender{World: w, name: name, client: client})
	}
	w.observer = &observer{World: w}
	if w.observer.client, err = redlock.Open(urls, o.clientOptions("observer", w.network)...); err != nil {
		return nil, err
	}
	for _, u := range urls {
		line, err := ask.Open(u, o.poolOptions(w.network)...)
		if err != nil {
			return nil, err
		}
		w.observer.lines = append(w.observer.lines, line)
		if w.breaker == nil {
			w.addresses = append(w.addresses, line.Name())
		}
	}
	return w, nil
}

// connect makes the network to masters of our own.
func (w *World) connect(urls []string) error {
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			return errors.New("a URL of our own masters is none")
		}
		w.addresses = append(w.addresses, u.Host)
	}
	w.network = newNetwork(w.Dial, w.addresses)
	return nil
}

// Masters is how many there are.
func (w *World) Masters() int { return len(w.addresses) }

// Client is one that sees the masters as the contenders do.
func (w *World) Client() *redlock.Client { return w.observer.client }

// Key is the lock's.
func (w *World) Key() string { return w.key }

// start is from when on time is counted.
func (w *World) start() {
	now := time.Now()
	w.began.Store(&now)
}

func (w *World) elapsed() time.Duration { return time.Since(*w.began.Load()) }

// readyBound is how long connecting may take before the contenders just try.
// Where it takes more than a second, masters that are new may not be taken for
// that, and abstain for the longest TTL first.
const readyBound = 5 * time.Second

// ready waits for every contender to have a quorum, for readyBound and, with
// masters of our own, the longest TTL at the most, and lets the time begin.
func (w *World) ready(ctx context.Context) {
	bound := readyBound
	if w.breaker != nil {
		bound += w.MaxTTL
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-w.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	for _, c := range w.contenders {
		if c.client.Ready(ctx) != nil {
			break // their attempts will tell
		}
	}
	cancel()
	wg.Wait()
	w.start()
	w.begun.Store(true)
}

// Run waits for a quorum, and then contends and does what the script and Inject
// say, until ctx ends, the time is over, or Stop is called. Then all masters that are frozen or cut off
// are let go, everything is unlocked, and the result is given. It may be called
// once.
func (w *World) Run(ctx context.Context) *Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.ready(ctx)
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
	start(func(ctx context.Context) { every(ctx, lookEvery, w.referee.look) })
	for _, c := range w.contenders {
		start(c.run)
	}
	var over <-chan time.Time
	if w.Duration > 0 {
		t := time.NewTimer(w.Duration)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
	case <-w.stop:
	case <-ctx.Done():
	}
	w.referee.look()
	lasted := w.elapsed()
	cancel()
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

// Stop ends the run. It does not wait, and may be called more than once.
func (w *World) Stop() { w.stopping.Do(func() { close(w.stop) }) }

// Inject has a fault done now. It does not wait: it reports false where too many
// are waiting already.
func (w *World) Inject(f Fault) bool {
	select {
	case w.faults <- f:
		return true
	default:
		return false
	}
}

// act does the faults that are injected, one at a time.
func (w *World) act(ctx context.Context) {
	for {
		select {
		case f := <-w.faults:
			if f.Action == End {
				w.Stop()
				return
			}
			w.do(ctx, f)
		case <-ctx.Done():
			return
		}
	}
}

// play does what the script says. A fault that takes long makes the next one
// late, and the end too.
func (w *World) play(ctx context.Context) {
	for _, f := range w.Script {
		if sleep.For(ctx, f.At-w.elapsed()) != nil {
			return
		}
		select {
		case w.faults <- f:
		case <-ctx.Done():
			return
		}
	}
}

// every calls f again and again until ctx ends.
func every(ctx context.Context, d time.Duration, f func()) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// closeAll closes the clients. Masters are let go before, so that they hear of
// the releases.
func (w *World) closeAll() {
	var wg sync.WaitGroup
	if w.breaker != nil {
		for n := range w.addresses {
			wg.Go(func() { w.letGo(n) })
		}
	}
	wg.Wait()
	for _, c := range w.contenders {
		wg.Go(func() { _ = c.client.Close() })
	}
	if o := w.observer; o != nil {
		if o.client != nil {
			wg.Go(func() { _ = o.client.Close() })
		}
		for _, line := range o.lines {
			wg.Go(line.Close)
		}
	}
	wg.Wait()
	if w.breaker == nil {
		w.clean()
	}
}

// letGo undoes what holds a master of ours up.
func (w *World) letGo(n int) {
	w.network.links[w.addresses[n]].heal()
	if w.condition(n).frozen {
		_ = w.breaker.Thaw(n) // it may have died meanwhile, and is closed soon anyway
	}
}

// cleanBound is how long masters that others run have to delete our keys.
const cleanBound = time.Second

// clean deletes what the lock has left on masters that others run. Where one cannot
// be reached, it expires.
func (w *World) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanBound)
	defer cancel()
	var wg sync.WaitGroup
	for _, u := range w.Cluster.URLs() {
		wg.Go(func() { _, _ = ask.Delete(ctx, u, ask.LeftBy(w.key), w.poolOptions(nil)...) })
	}
	wg.Wait()
}

// tell tells of an event.
func (w *World) tell(kind Kind, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := Event{At: w.elapsed(), Kind: kind, Text: fmt.Sprintf(format, args...)}
	if len(w.events) == keptEvents {
		w.events = slices.Delete(w.events, 0, 1)
	}
	w.events = append(w.events, e)
	w.Told(e)
}

// Condition says what has been done to a master, for keys that undo it.
func (w *World) Condition(n int) (frozen, cut bool, offset time.Duration) {
	c := w.condition(n)
	return c.frozen, c.cut, c.offset
}

// Snapshot is how everything stands.
func (w *World) Snapshot() Snapshot {
	s := Snapshot{
		Begun: w.begun.Load(), Elapsed: w.elapsed(), Quorum: w.need,
		Counts: w.counted(), Check: w.referee.count(),
		Masters: make([]MasterRow, len(w.addresses)),
	}
	copy(s.Masters, w.observer.seen())
	for i := range s.Masters {
		row := &s.Masters[i]
		row.Address = w.addresses[i]
		if w.breaker != nil {
			row.State = w.condition(i).String()
		}
		if row.Votes && row.Answers {
			s.Serving++
		}
	}
	s.Holder, s.Left = w.referee.holder()
	for _, c := range w.contenders {
		s.Contenders = append(s.Contenders, stateNames[c.state.Load()])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Events = slices.Clone(w.events)
	return s
}

func (w *World) counted() Counts {
	return Counts{w.counters.acquired.Load(), w.counters.refused.Load(), w.counters.lost.Load(), w.counters.failed.Load()}
}
