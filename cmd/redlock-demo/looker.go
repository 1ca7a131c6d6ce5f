package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/redlock"
)

// A looker asks all masters who holds locks, and each who waits for them.
type looker struct {
	client *redlock.Client
	queues *queueReader
}

// openLooker connects to the masters of the flags, which are one fleet, and waits until it
// is known which are there. The caller must close it.
func openLooker(cmd *cobra.Command, a *app, shared *sharedFlags, access *accessFlags) (*looker, error) {
	urls, err := shared.namedMasters(cmd, a)
	if err != nil {
		return nil, err
	}
	l, err := newLooker(urls, shared, access)
	if err == nil {
		l.await(cmd.Context())
	}
	return l, err
}

// newLooker begins to connect to these masters. Who only looks gives no master a marker,
// needs nobody's vote, and holds no lock, so any longest TTL will do. The caller must close it.
func newLooker(urls []string, shared *sharedFlags, access *accessFlags) (*looker, error) {
	client, err := access.openURLs(urls, shared, redlock.WithGuard(redlock.GuardOff), redlock.WithTTL(shortTTL(shared.maxTTL)))
	if err != nil {
		return nil, err
	}
	queues, err := openQueues(urls, access)
	if err != nil {
		client.Close()
		return nil, err
	}
	return &looker{client, queues}, nil
}

// await waits until it is known which masters are there.
func (l *looker) await(ctx context.Context) {
	awaitMasters(ctx, l.client, func(_, unknown, _ int) bool { return unknown == 0 })
	l.queues.await(ctx)
}

func (l *looker) close() {
	l.queues.close()
	l.client.Close()
}
