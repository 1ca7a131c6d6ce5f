package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

const (
	distanceSamples = 12
	// settleBefore is how long a lock is held before it is handed over, beside a random
	// part of as much: long enough for whoever waits to have queued up, at a pilot 80 ms
	// away, too.
	settleBefore = 300 * time.Millisecond
	// hotClients take one key in turn for hotFor, and hold it for between hotHold and
	// hotHold + hotHoldMore.
	hotClients  = 16
	hotFor      = 2 * time.Second
	hotHold     = 1200 * time.Microsecond
	hotHoldMore = 400 * time.Microsecond
	// idleClients are opened to see what one has on the heap.
	idleClients = 8
)

// A distanceLibrary is one whose operations are measured at a distance.
type distanceLibrary struct {
	name    string
	measure func(ctx context.Context, r *distanceRun) error
}

var distanceLibraries = []distanceLibrary{
	{"redsync", measureRedsync},
	{"redquorum", measureRedquorum},
	{"redquorum-strict", measureStrict},
}

// A distanceRun is one job under way.
type distanceRun struct {
	urls    []string
	samples int
	result  *distanceResult
}

// note adds a measurement.
func (r *distanceRun) note(op string, took time.Duration) {
	r.result.Took[op] = append(r.result.Took[op], took)
}

// cold measures a whole program: from the start until the first lock is held, and
// until all is over.
func (r *distanceRun) cold(ctx context.Context, open func([]string) (peer, error)) error {
	for i := range r.samples {
		began := time.Now()
		p, err := open(r.urls)
		if err != nil {
			return err
		}
		w := p.worker(fmt.Sprintf("distance:cold:%d", i))
		err = w.lock(ctx)
		first := time.Since(began)
		if err == nil {
			err = w.unlock(ctx)
		}
		if err = errors.Join(err, p.close()); err != nil {
			return fmt.Errorf("first lock %d: %w", i, err)
		}
		r.note("first", first)
		r.note("program", time.Since(began))
	}
	return nil
}

// pairs measures locks that nobody else wants.
func (r *distanceRun) pairs(ctx context.Context, p peer) error {
	w := p.worker("distance:pair")
	for i := range r.samples + warmUpPairs {
		began := time.Now()
		if err := w.lock(ctx); err != nil {
			return fmt.Errorf("lock %d: %w", i, err)
		}
		locked := time.Now()
		if err := w.unlock(ctx); err != nil {
			return fmt.Errorf("unlock %d: %w", i, err)
		}
		if i >= warmUpPairs {
			r.note("lock", locked.Sub(began))
			r.note("unlock", time.Since(locked))
		}
	}
	return nil
}

// A held lock is given back by this.
type release func(ctx context.Context) error

// An acquire waits for a lock.
type acquire func(ctx context.Context) (release, error)

// handOvers measures from the call of a release to the return of who waits for it. Each
// is on keys of its own, whose pilots differ, and all are made at the same time: the
// masters are idle.
func (r *distanceRun) handOvers(ctx context.Context, op string, duo func(i int) (holder, waiter acquire)) error {
	took, errs := make([]time.Duration, r.samples), make([]error, r.samples)
	var wg sync.WaitGroup
	for i := range took {
		holder, waiter := duo(i)
		// One after the other: so many at once would wait for the processors.
		wait := time.Duration(i) * 40 * time.Millisecond
		wg.Go(func() {
			time.Sleep(wait)
			took[i], errs[i] = handOverTo(ctx, holder, waiter)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	for _, d := range took {
		r.note(op, d)
	}
	return nil
}

func handOverTo(ctx context.Context, holder, waiter acquire) (time.Duration, error) {
	free, err := holder(ctx)
	if err != nil {
		return 0, err
	}
	took, free, err := handOver(ctx, free, waiter, settleBefore)
	if err != nil {
		return 0, err
	}
	return took, free(ctx)
}

// hotKey has clients take one key in turn.
func (r *distanceRun) hotKey(ctx context.Context, clients []acquire) error {
	var n, held atomic.Int64
	shares, errs := make([]int, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	began := time.Now()
	for i, take := range clients {
		wg.Go(func() {
			for time.Since(began) < hotFor {
				free, err := take(ctx)
				if err != nil {
					errs[i] = err
					return
				}
				locked := time.Now()
				time.Sleep(hotHold + rand.N(hotHoldMore))
				held.Add(int64(time.Since(locked)))
				n.Add(1)
				shares[i]++
				if err := free(ctx); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("hot key: %w", err)
	}
	took := time.Since(began)
	x := r.result.Extra
	x["hot-acq/s"] = float64(n.Load()) / took.Seconds()
	x[hotIdle] = float64(took-time.Duration(held.Load())) / float64(n.Load())
	x["hot-least-share"] = float64(slices.Min(shares)) / float64(n.Load()) * float64(len(shares))
	x["hot-most-share"] = float64(slices.Max(shares)) / float64(n.Load()) * float64(len(shares))
	return nil
}

// hotIdle is for how long the hot key is held by nobody, an acquisition, in ns; in the
// report it is in round trips.
const hotIdle = "hot-rt"

// settleHotKey makes round trips of it.
func (r *distanceResult) settleHotKey() {
	if v, ok := r.Extra[hotIdle]; ok {
		r.Extra[hotIdle] = v / float64(r.Trip)
	}
}

// openDistant opens so many clients, and waits until they reach all masters.
func openDistant(ctx context.Context, open func([]string) (peer, error), urls []string, n int) (peers []peer, closeAll func() error, err error) {
	closeAll = func() error {
		var errs []error
		for _, p := range peers {
			errs = append(errs, p.close())
		}
		return errors.Join(errs...)
	}
	for range n {
		p, err := open(urls)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		peers = append(peers, p)
		if err := p.connect(ctx, 1); err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
	}
	return peers, closeAll, nil
}

func measureRedsync(ctx context.Context, r *distanceRun) (err error) {
	peers, closeAll, err := openDistant(ctx, openRedsync, r.urls, hotClients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	take := func(i int, key string) acquire { return waiting(peers[i].worker(key)) }
	if err := r.pairs(ctx, peers[0]); err != nil {
		return err
	}
	if err := r.cold(ctx, openRedsync); err != nil {
		return err
	}
	err = r.handOvers(ctx, "hand-over", func(i int) (holder, waiter acquire) {
		key := fmt.Sprintf("distance:plain:%d", i)
		return take(0, key), take(1, key)
	})
	if err != nil {
		return err
	}
	var hot []acquire
	for i := range peers {
		hot = append(hot, take(i, "distance:hot"))
	}
	return r.hotKey(ctx, hot)
}

func measureRedquorum(ctx context.Context, r *distanceRun) (err error) {
	peers, closeAll, err := openDistant(ctx, openRedquorum, r.urls, hotClients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	client := func(i int) *redlock.Client { return peers[i].(*redquorumPeer).client }
	if err := r.pairs(ctx, peers[0]); err != nil {
		return err
	}
	if err := r.cold(ctx, openRedquorum); err != nil {
		return err
	}
	if err := r.handOversOf(ctx, handOverKinds, client(0), client(1)); err != nil {
		return err
	}
	var hot []acquire
	for i := range peers {
		hot = append(hot, locking()(client(i), "distance:hot"))
	}
	if err := r.hotKey(ctx, hot); err != nil {
		return err
	}
	return r.idleHeap(ctx)
}

// measureStrict is measureRedquorum with the strict guard, as far as clients wait for
// one another.
func measureStrict(ctx context.Context, r *distanceRun) (err error) {
	if err := declareStrict(ctx, r.urls); err != nil {
		return err
	}
	peers, closeAll, err := openDistant(ctx, openLevel(redlock.GuardStrict), r.urls, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if err := r.pairs(ctx, peers[0]); err != nil {
		return err
	}
	client := func(i int) *redlock.Client { return peers[i].(*redquorumPeer).client }
	return r.handOversOf(ctx, handOverKinds[:strictKinds], client(0), client(1))
}

// A handOverKind is a way in which a lock of redquorum goes from one client to another.
type handOverKind struct {
	name string
	duo  func(from, to *redlock.Client, key string) (holder, waiter acquire)
}

// The first strictKinds of them are measured with the strict guard, too.
var handOverKinds = []handOverKind{
	{"hand-over", both(locking())},
	{"fenced", both(locking(redlock.WithFencing()))},
	{"lock-all", both(lockingAll())},
	{"fenced-lock-all", both(lockingAll(redlock.WithFencing()))},
	{"lock-any", lockingAny()},
	{"fenced-lock-any", lockingAny(redlock.WithFencing())},
	{"rlock", from(locking(), reading)},
	{"lock-behind-reader", from(reading, locking())},
}

const strictKinds = 5

// handOversOf measures each kind of hand-over between two clients.
func (r *distanceRun) handOversOf(ctx context.Context, kinds []handOverKind, from, to *redlock.Client) error {
	for _, op := range kinds {
		duo := func(i int) (holder, waiter acquire) {
			return op.duo(from, to, fmt.Sprintf("distance:%s:%d", op.name, i))
		}
		if err := r.handOvers(ctx, op.name, duo); err != nil {
			return err
		}
	}
	return nil
}

// An acquiring makes what a client does with a key.
type acquiring func(c *redlock.Client, key string) acquire

// from is the hand-over from who does one thing to who does another.
func from(holder, waiter acquiring) func(from, to *redlock.Client, key string) (acquire, acquire) {
	return func(from, to *redlock.Client, key string) (acquire, acquire) {
		return holder(from, key), waiter(to, key)
	}
}

func both(a acquiring) func(from, to *redlock.Client, key string) (acquire, acquire) {
	return from(a, a)
}

func locking(opts ...redlock.LockOption) acquiring {
	return func(c *redlock.Client, key string) acquire {
		return func(ctx context.Context) (release, error) { return released(c.Lock(ctx, key, opts...)) }
	}
}

func lockingAll(opts ...redlock.LockOption) acquiring {
	return func(c *redlock.Client, key string) acquire {
		keys := []string{key + ":a", key + ":b"}
		return func(ctx context.Context) (release, error) { return released(c.LockAll(ctx, keys, opts...)) }
	}
}

// lockingAny is of two keys: the holder has both, gives one back, and keeps the other
// until the waiter is done.
func lockingAny(opts ...redlock.LockOption) func(from, to *redlock.Client, key string) (acquire, acquire) {
	return func(from, to *redlock.Client, key string) (holder, waiter acquire) {
		take := func(ctx context.Context, c *redlock.Client) (release, error) {
			return released(c.LockAny(ctx, []string{key + ":a", key + ":b"}, opts...))
		}
		var kept release
		holder = func(ctx context.Context) (free release, err error) {
			if kept, err = take(ctx, from); err != nil {
				return nil, err
			}
			return take(ctx, from)
		}
		waiter = func(ctx context.Context) (release, error) {
			free, err := take(ctx, to)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) error { return errors.Join(free(ctx), kept(ctx)) }, nil
		}
		return holder, waiter
	}
}

func reading(c *redlock.Client, key string) acquire {
	return func(ctx context.Context) (release, error) { return released(c.RWMutex(key).RLock(ctx)) }
}

func released(l *redlock.Lock, err error) (release, error) {
	if err != nil {
		return nil, err
	}
	return l.Unlock, nil
}

// idleHeap measures what a client has on the heap that has locked once and waits.
func (r *distanceRun) idleHeap(ctx context.Context) (err error) {
	before := liveHeap()
	peers, closeAll, err := openDistant(ctx, openRedquorum, r.urls, idleClients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	for i, p := range peers {
		if err := pair(p.worker(fmt.Sprintf("distance:idle:%d", i))); err != nil {
			return err
		}
	}
	r.result.Extra["idle-client-KiB"] = float64(liveHeap()-before) / idleClients / 1024
	runtime.KeepAlive(peers)
	return nil
}
