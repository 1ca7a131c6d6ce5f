package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/measure"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// Run measures the settings one after the other, and removes what it has left.
// An error is one of the library about the options, of a quorum that cannot be
// had, or ctx's cause; the Result, which is nil in the first case, then has what
// was measured until then.
func Run(ctx context.Context, o Options) (*Result, error) {
	r := &Result{
		Goroutines: o.Goroutines, Keys: o.keys(),
		TTLMS: o.TTL.Milliseconds(), Prefix: "redlock-demo:bench:" + xid.New().String() + ":",
		Rows: []Row{}, Left: []Left{},
	}
	if len(o.Fleets) == 1 {
		r.Masters, r.Quorum = len(o.Fleets[0].URLs), quorum.Need(len(o.Fleets[0].URLs))
	}
	var err error
	reached := make([]bool, len(o.urls()))
	for i, s := range o.Settings {
		var row *Row
		row, err = o.measure(ctx, r, s, reached)
		if bad, ok := errors.AsType[*optionError](err); ok {
			if i == 0 {
				return nil, bad.err // nothing has been asked
			}
			row, err = &Row{Guard: s.Guard, Fencing: s.Fencing, Errors: []ErrorsCount{}, Unavailable: bad.Error()}, nil
		}
		if row != nil {
			r.Rows = append(r.Rows, *row)
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	left, away := o.clean(r.Prefix, reached)
	r.Left, r.Away = append(r.Left, left...), away
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

// An optionError is the library's about a setting's options.
type optionError struct{ err error }

func (e *optionError) Error() string { return strings.TrimPrefix(e.err.Error(), "redlock: ") }

// measure runs one setting, and notes which masters it has reached, and which keys are in
// which fleet. Without a row nothing was measured.
func (o *Options) measure(ctx context.Context, r *Result, s Setting, reached []bool) (*Row, error) {
	row := &Row{Guard: s.Guard, Fencing: s.Fencing, Errors: []ErrorsCount{}}
	p, err := o.open(s)
	if errors.Is(err, errors.ErrUnsupported) {
		row.Unavailable = "not available in this version"
		return row, nil
	}
	if err != nil {
		return nil, &optionError{err}
	}
	defer p.close()
	if p.shards != nil && r.Fleets == nil {
		r.Fleets = o.shares(p.shards, r.Prefix)
	}
	ready, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	if err := p.locker.Ready(ready); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	l := &load{Options: o, locker: p.locker, setting: s, prefix: r.Prefix}
	l.run(ctx)
	i := 0
	for _, c := range p.clients {
		for _, m := range c.Masters(ctx) {
			reached[i] = reached[i] || m.Connected || m.RoundTrip > 0 || m.RunID != ""
			i++
		}
	}
	l.fill(row)
	return row, nil
}

// A place is where locks are taken: on the one fleet, or on that of each key.
type place struct {
	locker  fleets.Locker
	shards  *fleets.Shards    // nil: there is one fleet
	clients []*redlock.Client // in the order of the fleets
}

func (p *place) close() {
	for _, c := range p.clients {
		_ = c.Close() // its only error is that of a pool, which has none
	}
}

// open begins to connect to all fleets.
func (o *Options) open(s Setting) (_ *place, err error) {
	opts := append([]redlock.Option{redlock.WithTTL(o.TTL), redlock.WithOwner("bench"), redlock.WithPool(o.Pool...)}, s.Options...)
	if s.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	p := &place{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	byName := map[string]fleets.Locker{}
	for _, f := range o.Fleets {
		c, err := redlock.Open(f.URLs, opts...)
		if err != nil {
			return nil, err
		}
		p.clients = append(p.clients, c)
		p.locker = fleets.One(c)
		byName[f.Name] = p.locker
	}
	if len(o.Fleets) > 1 {
		if p.shards, err = fleets.Sharded(byName); err != nil {
			return nil, err
		}
		p.locker = p.shards
	}
	return p, nil
}

// shares is how the keys are spread.
func (o *Options) shares(shards *fleets.Shards, prefix string) []Share {
	keys := map[string]int{}
	for n := range o.keys() {
		keys[shards.Shard(prefix+strconv.Itoa(n))]++
	}
	var all []Share
	for _, f := range o.Fleets {
		all = append(all, Share{f.Name, len(f.URLs), quorum.Need(len(f.URLs)), keys[f.Name]})
	}
	return all
}

// A load is goroutines that lock and unlock.
type load struct {
	*Options
	locker  fleets.Locker
	setting Setting
	prefix  string
	pairs   atomic.Uint64
	counts  atomic.Bool // the warm-up is over

	took    time.Duration
	workers []*worker
}

// A worker is one goroutine's figures, its own until it has ended.
type worker struct {
	lock, unlock measure.Histogram
	errors       []ErrorsCount
}

// run runs the load until its time is over, or ctx.
func (l *load) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for n := range l.Goroutines {
		w := &worker{}
		l.workers = append(l.workers, w)
		key := l.prefix + strconv.Itoa(n%l.keys())
		wg.Go(func() { w.work(ctx, l, n, key) })
	}
	began := time.Now()
	l.wait(ctx, began, warmUp)
	l.counts.Store(true)
	counted := time.Now()
	l.wait(ctx, counted, l.Duration)
	l.took = time.Since(counted)
	cancel()
	wg.Wait()
}

const progressEvery = 200 * time.Millisecond

// wait waits until so long after began, and tells of the progress.
func (l *load) wait(ctx context.Context, began time.Time, until time.Duration) {
	for {
		left := until - time.Since(began)
		if left <= 0 {
			return
		}
		if sleep.For(ctx, min(left, progressEvery)) != nil {
			return
		}
		if l.Progress != nil {
			l.Progress(Progress{l.setting, time.Since(began), l.pairs.Load()})
		}
	}
}

// work locks and unlocks until ctx ends. Where there are more keys than
// goroutines, it goes through its share of them.
func (w *worker) work(ctx context.Context, l *load, n int, key string) {
	for i := n; ctx.Err() == nil; i += l.Goroutines {
		if l.Keys > l.Goroutines {
			key = l.prefix + strconv.Itoa(i%l.Keys)
		}
		counts := l.counts.Load()
		began := time.Now()
		lock, err := l.locker.Lock(ctx, key)
		locked := time.Now()
		if err != nil {
			if ctx.Err() == nil {
				w.failed(err)
			}
			continue
		}
		err = lock.Unlock(context.WithoutCancel(ctx)) // bounded by the masters' timeout
		if ctx.Err() != nil {
			return // it lasted beyond the end
		}
		unlocked := time.Now()
		l.pairs.Add(1)
		if err != nil {
			w.failed(fmt.Errorf("unlock: %w", err))
		} else if counts {
			w.lock.Add(locked.Sub(began))
			w.unlock.Add(unlocked.Sub(locked))
		}
	}
}

// kinds are the ways in which a call may fail, in the order of looking.
var kinds = []struct {
	is   error
	name string
}{{redlock.ErrLost, "lost"}, {redlock.ErrTaken, "taken"}, {redlock.ErrNoQuorum, "no quorum"}}

func (w *worker) failed(err error) {
	kind := "other"
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			kind = k.name
			break
		}
	}
	count(&w.errors, ErrorsCount{kind, 1, err.Error()})
}

func count(list *[]ErrorsCount, e ErrorsCount) {
	i := slices.IndexFunc(*list, func(o ErrorsCount) bool { return o.Kind == e.Kind })
	if i < 0 {
		*list = append(*list, e)
		return
	}
	(*list)[i].Count += e.Count
}

// fill puts the figures of all workers into the row.
func (l *load) fill(row *Row) {
	var lock, unlock measure.Histogram
	for _, w := range l.workers {
		lock.Merge(&w.lock)
		unlock.Merge(&w.unlock)
		for _, e := range w.errors {
			count(&row.Errors, e)
		}
	}
	row.DurationMS, row.Pairs = l.took.Milliseconds(), lock.Count()
	if l.took > 0 {
		row.PairsPerSec = float64(lock.Count()) / l.took.Seconds()
	}
	row.Lock, row.Unlock = latency(&lock), latency(&unlock)
}
