package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

type redquorumPeer struct{ client *redlock.Client }

func openRedquorum(urls []string) (peer, error) { return openRedquorumAt(urls, redlock.GuardStandard) }

// openUnguarded trusts every master, as the other libraries do.
func openUnguarded(urls []string) (peer, error) { return openRedquorumAt(urls, redlock.GuardOff) }

func openRedquorumAt(urls []string, level redlock.GuardLevel, opts ...redlock.Option) (peer, error) {
	client, err := redlock.Open(urls, append(opts, redlock.WithTTL(ttl), redlock.WithGuard(level))...)
	if err != nil {
		return nil, err
	}
	return &redquorumPeer{client}, nil
}

// connect waits for all masters; Client.Ready would wait for a quorum only. The number of
// connections does not depend on the number of goroutines.
func (p *redquorumPeer) connect(ctx context.Context, _ int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := ""
		for _, m := range p.client.Masters() {
			if !m.Votes {
				missing += fmt.Sprintf(" %s (%v, %v)", m.Master, m.Err, m.Why)
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("redquorum: not connected:%s: %w", missing, ctx.Err())
		}
	}
}

func (p *redquorumPeer) worker(key string) worker {
	return &redquorumWorker{client: p.client, key: key}
}

func (p *redquorumPeer) close() error { return p.client.Close() }

type redquorumWorker struct {
	client *redlock.Client
	key    string
	held   *redlock.Lock
}

func (w *redquorumWorker) lock(ctx context.Context) (err error) {
	w.held, err = w.client.TryLock(ctx, w.key)
	return err
}

func (w *redquorumWorker) unlock(ctx context.Context) error { return w.held.Unlock(ctx) }
