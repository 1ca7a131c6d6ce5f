package main

import (
	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/redlock"
)

// A looker asks all masters who holds locks, and each who waits for them.
type looker struct {
	client *redlock.Client
	queues *queueReader
}

// openLooker connects to the masters of the flags, and waits until it is known which
// are there. Who only looks gives no master a marker, and needs nobody's vote. The
// caller must close it.
func openLooker(cmd *cobra.Command, a *app, shared *sharedFlags, access *accessFlags) (*looker, error) {
	client, err := access.open(cmd, a, shared, redlock.WithGuard(redlock.GuardOff))
	if err != nil {
		return nil, err
	}
	queues, err := openQueues(cmd, a, shared, access)
	if err != nil {
		client.Close()
		return nil, err
	}
	awaitMasters(cmd.Context(), client, func(_, unknown, _ int) bool { return unknown == 0 })
	queues.await(cmd.Context())
	return &looker{client, queues}, nil
}

func (l *looker) close() {
	l.queues.close()
	l.client.Close()
}
