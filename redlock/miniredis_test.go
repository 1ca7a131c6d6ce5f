package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// miniredisURLs starts masters that answer INFO with an error: they do not have the section.
func miniredisURLs(t *testing.T, n int) (urls []string, masters []*miniredis.Miniredis) {
	t.Helper()
	for range n {
		m := miniredis.RunT(t)
		urls, masters = append(urls, "redis://"+m.Addr()), append(masters, m)
	}
	return urls, masters
}

func openPlain(t *testing.T, urls []string, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	patient := redlock.WithPool(pool.WithCommandTimeout(testutil.Bound), pool.WithDialTimeout(time.Minute)) // the machine may be busy
	client, err := redlock.Open(urls, append(opts, patient)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Programs use plain miniredis in tests: its masters vote unguarded, and the report says so.
func TestPlainMiniredisServesAllKindsOfLocks(t *testing.T) {
	for _, n := range []int{1, 3} {
		urls, masters := miniredisURLs(t, n)
		a, b := openPlain(t, urls), openPlain(t, urls)
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(errors.Join(a.Ready(ctx), b.Ready(ctx)))
		testutil.Eventually(t, "all masters vote, unguarded", func() bool {
			return !slices.ContainsFunc(a.Masters(), func(m redlock.MasterReport) bool {
				return !m.Votes || m.Unguarded == nil || !strings.Contains(m.Unguarded.Error(), "is not supported")
			})
		})

		first, err := a.Lock(ctx, "key", redlock.WithFencing())
		must(err)
		if found, err := b.Inspect(ctx, "key"); err != nil || found.Verdict != redlock.VerdictHeld {
			t.Errorf("Inspect: %v, %v", found, err)
		}
		if _, err := b.TryLock(ctx, "key"); !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("TryLock of what is held: %v", err)
		}
		got := make(chan error, 1)
		go func() {
			second, err := b.Lock(ctx, "key", redlock.WithFencing())
			if err == nil && second.Fence() <= first.Fence() {
				err = errors.New("the fencing token does not rise")
			}
			got <- errors.Join(err, second.Unlock(ctx))
		}()
		testutil.Eventually(t, "a call waits", func() bool { return b.Stats().Waiting == 1 })
		must(errors.Join(first.Extend(ctx), first.Unlock(ctx)))
		must(<-got)

		several, err := a.LockAll(ctx, []string{"x", "y"})
		must(err)
		must(several.Unlock(ctx))
		reader, err := a.RWMutex("rw").RLock(ctx)
		must(err)
		another, err := b.RWMutex("rw").RLock(ctx)
		must(err)
		if _, err := b.RWMutex("rw").TryLock(ctx); !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("a writer beside readers: %v", err)
		}
		must(errors.Join(reader.Unlock(ctx), another.Unlock(ctx)))
		writer, err := b.RWMutex("rw").Lock(ctx)
		must(err)
		must(writer.Unlock(ctx))

		handed, err := a.Lock(ctx, "handed")
		must(err)
		adopted, err := b.Adopt(ctx, "handed", handed.Token())
		must(err)
		must(adopted.Unlock(ctx))

		_, err = a.Lock(ctx, "expires", redlock.WithLease(30*time.Second), redlock.WithUnlockOnly())
		must(err)
		for _, m := range masters {
			m.FastForward(31 * time.Second)
		}
		after, err := b.TryLock(ctx, "expires")
		must(err)
		must(after.Unlock(ctx))

		for _, m := range masters {
			m.FlushAll() // as between two tests: nothing says that locks were forgotten
		}
		again, err := a.TryLock(ctx, "key")
		must(err)
		must(again.Unlock(ctx))
	}
}

// GuardStrict refuses masters that cannot be identified, and says what is missing.
func TestPlainMiniredisIsNoMasterForStrict(t *testing.T) {
	urls, _ := miniredisURLs(t, 1)
	client := openPlain(t, urls, redlock.WithGuard(redlock.GuardStrict), redlock.WithLogger(nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Lock(ctx, "key"); err == nil || !strings.Contains(err.Error(), "INFO cannot be read") {
		t.Errorf("%v, want that INFO cannot be read", err)
	}
}

// Any other refusal may pass, such as the error of a proxy whose server is away for a moment.
func TestAnotherRefusalOfINFOIsAskedAgain(t *testing.T) {
	urls, masters := miniredisURLs(t, 1)
	var refused atomic.Bool
	refused.Store(true)
	masters[0].Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" && refused.Load() {
			p.WriteError("upstream failure")
			return true
		}
		return false
	})
	client := openPlain(t, urls, redlock.WithLogger(nil))
	if _, err := client.TryLock(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "still being checked") {
		t.Errorf("%v, want that it is still being checked", err)
	}
	refused.Store(false)
	testutil.Eventually(t, "the master votes", func() bool { return client.Masters()[0].Votes })
}
