package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

const (
	distancePairs = 12
	// settleBefore is how long a lock is held before it is handed over; a random time of up
	// to the same length is added. It is enough for a waiter to queue, even at a pilot
	// 80 ms away.
	settleBefore = 300 * time.Millisecond
)

// distanceLibraries are the libraries that BenchmarkDistance measures.
var distanceLibraries = []library{
	{"redsync", openRedsync},
	{"redquorum", openRedquorum},
	{"redquorum-strict", openStrict},
}

// openStrict declares the masters to be a new strict fleet, which votes at once.
func openStrict(urls []string) (peer, error) {
	p, err := openRedquorumAt(urls, redlock.GuardStrict)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.(*redquorumPeer).client.Init(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// measure runs the operations of the library: locks that nobody else wants, and
// hand-overs from one client to another. The hand-overs use several keys, whose pilots
// differ.
func (r *distanceResult) measure(ctx context.Context, lib library, urls []string) (err error) {
	var peers [2]peer
	for i := range peers {
		p, err := lib.open(urls)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		if err := p.connect(ctx, 1); err != nil {
			return err
		}
		peers[i] = p
	}
	w := peers[0].worker("distance:pair")
	for i := range distancePairs + warmUpPairs {
		began := time.Now()
		if err := w.lock(ctx); err != nil {
			return fmt.Errorf("lock %d: %w", i, err)
		}
		locked := time.Now()
		if err := w.unlock(ctx); err != nil {
			return fmt.Errorf("unlock %d: %w", i, err)
		}
		if i >= warmUpPairs {
			r.Took["lock"] = append(r.Took["lock"], locked.Sub(began))
			r.Took["unlock"] = append(r.Took["unlock"], time.Since(locked))
		}
	}
	if r.Took["hand-over"], err = handOvers(ctx, peers, 1, settleBefore); err != nil {
		return fmt.Errorf("hand-over: %w", err)
	}
	return nil
}
