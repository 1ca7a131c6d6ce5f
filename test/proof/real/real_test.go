package real

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

const (
	masters = 5
	ttl     = 400 * time.Millisecond
	lasting = 4 * time.Second
)

// Clients read, change and write a set under the lock, while masters are killed,
// come back empty, and are frozen: nobody else holds it meanwhile, tokens rise,
// and no update is lost, though holders are stopped before they write.
func TestHistoriesOfRealMasters(t *testing.T) {
	if err := redistest.Available(); err != nil {
		if os.Getenv("REDQUORUM_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no redis-server to run against: %v", err)
	}
	cluster, err := redistest.LaunchN(t.Context(), masters, redistest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &workload{recorder: newRecorder(), set: make(map[string]*history.Set)}
	for k := range 2 {
		w.set[fmt.Sprintf("k%d", k)] = &history.Set{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	defer cancel()
	var working sync.WaitGroup
	for i := range 4 {
		c, err := redlock.Open(cluster.URLs(), redlock.WithLogger(nil), redlock.WithTTL(ttl), redlock.WithMaxTTL(ttl), redlock.WithFencing(),
			redlock.WithOutageWait(lasting), redlock.WithTrace(&redlock.Trace{Renewal: w.renewed}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		for n := range 2 {
			working.Go(func() { w.work(ctx, c, fmt.Sprintf("c%d.%d", i, n)) })
		}
	}
	working.Go(func() { trouble(ctx, t, cluster) })
	working.Wait()

	h := w.all()
	for _, v := range append(h.Check(), h.Linearizable(20*time.Second)...) {
		t.Error(v)
	}
	updates, stale := 0, 0
	for key, set := range w.set {
		for _, v := range set.Lost() {
			t.Errorf("%s: %v", key, v)
		}
		written, refused := set.Writes()
		updates += written
		stale += refused
	}
	t.Logf("%d holds, %d updates, %d refused for their fencing token", len(h), updates, stale)
	if len(h) < 20 || updates < 5 {
		t.Errorf("%d holds and %d updates: too few to tell anything", len(h), updates)
	}
}

// trouble freezes a master and restarts another one empty, again and again.
func trouble(ctx context.Context, t *testing.T, c *redistest.Cluster) {
	for i := 0; sleep(ctx, 300*time.Millisecond); i++ {
		frozen, killed := c.Masters[i%masters], c.Masters[(i+2)%masters]
		if err := frozen.Freeze(); err != nil {
			t.Error(err)
		}
		if err := killed.Kill(); err != nil {
			t.Error(err)
		}
		sleep(ctx, 200*time.Millisecond)
		if err := frozen.Thaw(); err != nil {
			t.Error(err)
		}
		if err := killed.Restart(context.WithoutCancel(ctx), false); err != nil {
			t.Error(err)
		}
		sleep(ctx, ttl+300*time.Millisecond) // until it may vote again
	}
}

// sleep pauses, and reports false when ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// A workload is what the clients do.
type workload struct {
	*recorder
	set map[string]*history.Set
}

func (w *workload) work(ctx context.Context, c *redlock.Client, name string) {
	for sleep(ctx, rand.N(3*time.Millisecond)) {
		key := fmt.Sprintf("k%d", rand.IntN(len(w.set)))
		asked := w.now()
		var l *redlock.Lock
		var err error
		op, shared := "Lock", false
		switch rand.IntN(8) {
		case 0:
			op = "LockAll"
			l, err = c.LockAll(ctx, []string{"k0", "k1"})
		case 1:
			op = "LockAny"
			l, err = c.LockAny(ctx, []string{"slot0", "slot1"})
		case 2, 3:
			op, shared = "RLock", true
			l, err = c.RWMutex(key).RLock(ctx)
		case 4:
			op = "RWMutex.Lock"
			l, err = c.RWMutex(key).Lock(ctx)
		default:
			l, err = c.Lock(ctx, key)
		}
		if err != nil {
			continue
		}
		h := w.granted(l, name, op, shared, asked)
		if set := w.set[l.Key()]; set != nil && !shared {
			w.update(l, set, name)
		} else {
			time.Sleep(rand.N(20 * time.Millisecond))
		}
		w.ended(l)
		if l.Unlock(context.Background()) == nil {
			w.released(h)
		}
	}
}

// update reads, changes and writes. Now and then it has lost its lock in between,
// as a holder that was stopped for long has: it is given back before the write.
func (w *workload) update(l *redlock.Lock, set *history.Set, name string) {
	elements, err := set.Read(l.Fence())
	if err != nil {
		return
	}
	time.Sleep(rand.N(10 * time.Millisecond))
	if l.Context().Err() != nil {
		return
	}
	element := fmt.Sprintf("%s %d", name, l.Fence())
	if rand.IntN(6) == 0 {
		w.ended(l)
		_ = l.Unlock(context.Background())
		time.Sleep(rand.N(30 * time.Millisecond))
	}
	_ = set.Write(l.Fence(), append(elements, element), element)
}
