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
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
)

// Run measures the settings one after the other, and removes what it has left.
// An error is one of the library about the options, of a quorum that cannot be
// had, or ctx's cause; the Result, which is nil in the first case, then has what
// was measured until then.
func Run(ctx context.Context, o Options) (*Result, error) {
	r := &Result{
		Masters: len(o.URLs), Quorum: quorum.Need(len(o.URLs)), Goroutines: o.Goroutines, Keys: o.keys(),
		TTLMS: o.TTL.Milliseconds(), Prefix: "redlock-demo:bench:" + xid.New().String() + ":",
		Rows: []Row{}, Left: []Left{},
	}
	var err error
	reached := make([]bool, len(o.URLs))
	for i, s := range o.Settings {
		var row *Row
		row, err = o.measure(ctx, r.Prefix, s, reached)
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

// measure runs one setting, and notes which masters it has reached. Without a row
// nothing was measured.
func (o *Options) measure(ctx context.Context, prefix string, s Setting, reached []bool) (*Row, error) {
	row := &Row{Guard: s.Guard, Fencing: s.Fencing, Errors: []ErrorsCount{}}
	opts := append([]redlock.Option{redlock.WithTTL(o.TTL), redlock.WithOwner("bench"), redlock.WithPool(o.Pool...)}, s.Options...)
	if s.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	client, err := redlock.Open(o.URLs, opts...)
	if errors.Is(err, errors.ErrUnsupported) {
		row.Unavailable = "not available in this version"
		return row, nil
	}
	if err != nil {
		return nil, &optionError{err}
	}
	defer client.Close()
	ready, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	if err := client.Ready(ready); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	l := &load{Options: o, client: client, setting: s, prefix: prefix}
	l.run(ctx)
	for i, m := range client.Masters(ctx) {
		reached[i] = reached[i] || m.Connected || m.RoundTrip > 0 || m.RunID != ""
	}
	l.fill(row)
	return row, nil
}

// A load is goroutines that lock and unlock.
type load struct {
	*Options
	client  *redlock.Client
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
		t := time.NewTimer(min(left, progressEvery))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
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
		lock, err := l.client.Lock(ctx, key)
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
