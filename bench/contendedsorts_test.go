package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// sorts are the other locks that are waited for, each with how many may hold one
// at a time and what contender number i takes.
var sorts = []struct {
	name string
	most int32
	take func(c *redlock.Client, i int) func(context.Context) (*redlock.Lock, error)
}{
	// Two of three keys: any two of these sets share a key.
	{"all", 1, func(c *redlock.Client, i int) func(context.Context) (*redlock.Lock, error) {
		keys := []string{fmt.Sprint("all:", i%3), fmt.Sprint("all:", (i+1)%3)}
		return func(ctx context.Context) (*redlock.Lock, error) { return c.LockAll(ctx, keys) }
	}},
	{"any", 5, func(c *redlock.Client, _ int) func(context.Context) (*redlock.Lock, error) {
		keys := []string{"any:1", "any:2", "any:3", "any:4", "any:5"}
		return func(ctx context.Context) (*redlock.Lock, error) { return c.LockAny(ctx, keys) }
	}},
}

const sortsContenders = 16

// BenchmarkContendedSorts is BenchmarkContended for sets of keys that overlap
// and for one of several keys; waiting in queues, and polling.
func BenchmarkContendedSorts(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, sort := range sorts {
		for _, how := range []struct {
			name string
			opts []redlock.Option
		}{
			{"polling", []redlock.Option{redlock.WithBackoff(randomDelay)}},
			{"queue", nil},
		} {
			b.Run(fmt.Sprintf("sort=%s/waiting=%s", sort.name, how.name), func(b *testing.B) {
				all := make([]*contender, sortsContenders)
				for i := range all {
					c, err := openRedquorumContender(masters.URLs(), "", how.opts...)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = c.peer.close() })
					if err := c.peer.connect(b.Context(), 1); err != nil {
						b.Fatal(err)
					}
					take := sort.take(c.peer.(*redquorumPeer).client, i)
					c.acquire = func(ctx context.Context) (func() error, error) {
						l, err := take(ctx)
						if err != nil {
							return nil, err
						}
						return func() error { return l.Unlock(ctx) }, nil
					}
					all[i] = c
				}
				contend(b, all, sort.most)
			})
		}
	}
}
