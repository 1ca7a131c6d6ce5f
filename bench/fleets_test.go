package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// mastersPerFleet is how many masters each of several fleets has.
const mastersPerFleet = 3

// BenchmarkFleets is BenchmarkLockUnlock with one, two and four fleets of three masters,
// beside the client of one fleet by itself: what the choice of the shard costs, and what
// more fleets bring where the machine has room for them.
func BenchmarkFleets(b *testing.B) {
	const goroutines = 256
	for _, n := range []int{1, 2, 4} {
		masters := redistest.Start(b, n*mastersPerFleet, redistest.Config{})
		libs := []library{{name: "redquorum-sharded", open: openSharded}}
		if n == 1 {
			libs = append(libs, library{name: "redquorum", open: openRedquorum})
		}
		for _, lib := range libs {
			benchmarkPairs(b, lib, masters, fmt.Sprintf("fleets=%d", n), goroutines)
		}
	}
}

// A shardedPeer has a shard for every three masters.
type shardedPeer struct {
	clients []*redquorumPeer
	shards  *fleets.Shards
}

func openSharded(urls []string) (peer, error) {
	p := &shardedPeer{}
	lockers := map[string]fleets.Locker{}
	for i := 0; i < len(urls); i += mastersPerFleet {
		client, err := openRedquorumAt(urls[i:i+mastersPerFleet], redlock.GuardStandard)
		if err != nil {
			return nil, err
		}
		p.clients = append(p.clients, client.(*redquorumPeer))
		lockers[fmt.Sprint("shard-", i/mastersPerFleet)] = fleets.One(p.clients[len(p.clients)-1].client)
	}
	var err error
	p.shards, err = fleets.Sharded(lockers)
	return p, err
}

func (p *shardedPeer) connect(ctx context.Context, goroutines int) error {
	for _, c := range p.clients {
		if err := c.connect(ctx, goroutines); err != nil {
			return err
		}
	}
	return p.shards.Ready(ctx)
}

func (p *shardedPeer) worker(key string) worker { return &shardedWorker{shards: p.shards, key: key} }

func (p *shardedPeer) close() error { return p.shards.Close() }

type shardedWorker struct {
	shards *fleets.Shards
	key    string
	held   fleets.Hold
}

func (w *shardedWorker) lock(ctx context.Context) (err error) {
	w.held, err = w.shards.TryLock(ctx, w.key)
	return err
}

func (w *shardedWorker) unlock(ctx context.Context) error { return w.held.Unlock(ctx) }

func (w *shardedWorker) token() string {
	lock, ok := redlock.FromContext(w.held.Context())
	if !ok {
		return ""
	}
	return lock.Token()
}
