package bench

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A roamingWorker takes a key of its choice for every pair.
type roamingWorker struct {
	peer    peer
	next    func() string
	current worker
}

func (w *roamingWorker) lock(ctx context.Context) error {
	w.current = w.peer.worker(w.next())
	return w.current.lock(ctx)
}

func (w *roamingWorker) unlock(ctx context.Context) error { return w.current.unlock(ctx) }

func (w *roamingWorker) token() string { return w.current.token() }

// freshKeys has every pair of a library on a key that none had before: where
// what one pair leaves behind would keep the next ones from the key.
func freshKeys(open func([]string) (peer, error)) func([]string) (peer, error) {
	return func(urls []string) (peer, error) {
		p, err := open(urls)
		if err != nil {
			return nil, err
		}
		return &freshKeyPeer{peer: p}, nil
	}
}

type freshKeyPeer struct {
	peer
	taken atomic.Int64 // keys so far
}

func (p *freshKeyPeer) worker(key string) worker {
	return &roamingWorker{peer: p.peer, next: func() string {
		return key + ":" + strconv.FormatInt(p.taken.Add(1), 10)
	}}
}

func TestFreshKeysAreNeverTakenTwice(t *testing.T) {
	c := redistest.Start(t, 1, redistest.Config{})
	holder := openWorker(t, freshKeys(openUnguarded), c, "fresh")
	// Each would find the key taken by the one before.
	for range 3 {
		if err := holder.lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := c.Masters[0].Do("DBSIZE"); err != nil || n != int64(3) {
		t.Errorf("%v keys, error %v: want 3", n, err)
	}
}
