package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

const (
	distanceSamples = 12
	// settleBefore is how long a lock is held before it is handed over, beside a random
	// part of as much: long enough for whoever waits to have queued up, at a pilot 80 ms
	// away, too.
	settleBefore = 300 * time.Millisecond
)

// distanceLibraries are those whose operations are measured at a distance.
var distanceLibraries = []library{
	{"redsync", openRedsync},
	{"redquorum", openRedquorum},
	{strictLibrary, func(urls []string) (peer, error) { return openRedquorumAt(urls, redlock.GuardStrict) }},
}

// strictLibrary needs a fleet that is declared by hand.
const strictLibrary = "redquorum-strict"

// declareStrict makes the masters a new strict fleet, which votes at once.
func declareStrict(ctx context.Context, urls []string) error {
	client, err := redlock.Open(urls, redlock.WithGuard(redlock.GuardStrict))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return client.Init(ctx)
}

// A distanceRun is one job under way.
type distanceRun struct {
	urls   []string
	result *distanceResult
}

// note adds a measurement.
func (r *distanceRun) note(op string, took time.Duration) {
	r.result.Took[op] = append(r.result.Took[op], took)
}

// cold measures a whole program: from the start until the first lock is held, and
// until all is over.
func (r *distanceRun) cold(ctx context.Context, open func([]string) (peer, error)) error {
	for i := range distanceSamples {
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
	for i := range distanceSamples + warmUpPairs {
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
func (r *distanceRun) handOvers(ctx context.Context, from, to peer) error {
	took, errs := make([]time.Duration, distanceSamples), make([]error, distanceSamples)
	var wg sync.WaitGroup
	for i := range took {
		key := fmt.Sprintf("distance:hand-over:%d", i)
		holder, waiter := waiting(from.worker(key)), waiting(to.worker(key))
		// One after the other: so many at once would wait for the processors.
		wait := time.Duration(i) * 40 * time.Millisecond
		wg.Go(func() {
			time.Sleep(wait)
			took[i], errs[i] = handOverTo(ctx, holder, waiter)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("hand-over: %w", err)
	}
	for _, d := range took {
		r.note("hand-over", d)
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

// measure runs the operations of a library.
func (r *distanceRun) measure(ctx context.Context, lib library) (err error) {
	if lib.name == strictLibrary {
		if err := declareStrict(ctx, r.urls); err != nil {
			return err
		}
	}
	peers, closeAll, err := openDistant(ctx, lib.open, r.urls, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if err := r.pairs(ctx, peers[0]); err != nil {
		return err
	}
	if err := r.cold(ctx, lib.open); err != nil {
		return err
	}
	return r.handOvers(ctx, peers[0], peers[1])
}

func released(l *redlock.Lock, err error) (release, error) {
	if err != nil {
		return nil, err
	}
	return l.Unlock, nil
}
