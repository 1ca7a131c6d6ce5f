package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
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

// A queueReader reads the queues of locks, which one master keeps at a time, and
// a further one for a while when that has changed.
type queueReader struct{ lines []*ask.Master }

// openQueues connects to these masters. The caller must close it.
func openQueues(urls []string, access *accessFlags) (*queueReader, error) {
	poolOpts, err := access.pool()
	if err != nil {
		return nil, err
	}
	r := &queueReader{}
	for _, url := range urls {
		line, err := ask.Open(url, poolOpts...)
		if err != nil {
			r.close()
			return nil, inFlags(err)
		}
		r.lines = append(r.lines, line)
	}
	return r, nil
}

func (r *queueReader) close() {
	for _, line := range r.lines {
		line.Close()
	}
}

// await waits until it is known who is connected, for connectBound at the most.
func (r *queueReader) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectBound)
	defer cancel()
	for _, line := range r.lines {
		_, _ = line.Connect(ctx) // read skips those that are not
	}
}

// queueBound is how long the masters have to tell their queues.
const queueBound = 500 * time.Millisecond

// read asks all masters that are connected at once.
func (r *queueReader) read(ctx context.Context, key string) *waitingStatus {
	ctx, cancel := context.WithTimeout(ctx, queueBound)
	defer cancel()
	type queue struct {
		first []ask.Waiting
		all   int
		err   error
	}
	queues := make([]queue, len(r.lines))
	var wg sync.WaitGroup
	for i, line := range r.lines {
		if !line.Stats().Connected {
			continue
		}
		wg.Go(func() {
			q := &queues[i]
			q.first, q.all, q.err = line.Queue(ctx, key)
		})
	}
	wg.Wait()
	s := &waitingStatus{Clients: []waitingClient{}}
	for _, q := range queues {
		if q.err != nil {
			s.Error = cmp.Or(s.Error, redacted(q.err.Error()))
			continue
		}
		s.Count = max(s.Count, q.all)
		for _, w := range q.first {
			s.add(waitingClient{w.Client, w.Owner, w.For.Milliseconds(), w.Called})
		}
	}
	s.Count = max(s.Count, len(s.Clients))
	slices.SortStableFunc(s.Clients, func(a, b waitingClient) int { return cmp.Compare(b.ForMS, a.ForMS) })
	return s
}

// A waitingStatus is who waits for a key, in what --json prints.
type waitingStatus struct {
	Count   int             `json:"count"`
	Clients []waitingClient `json:"clients"`         // those that have waited longest, about 100 at the most
	Error   string          `json:"error,omitempty"` // why a master does not tell
}

type waitingClient struct {
	Client string `json:"client"`           // the id with which its tokens begin, or follow its owner's name
	Owner  string `json:"owner,omitempty"`  // the client's name
	ForMS  int64  `json:"for_ms"`           // since when it has waited; 0 where it was called
	Called bool   `json:"called,omitempty"` // it is told that the lock is free
}

// add counts a client once, on whatever master it is.
func (s *waitingStatus) add(c waitingClient) {
	i := slices.IndexFunc(s.Clients, func(o waitingClient) bool { return o.Client == c.Client })
	if i < 0 {
		s.Clients = append(s.Clients, c)
		return
	}
	s.Clients[i].ForMS, s.Clients[i].Called = max(s.Clients[i].ForMS, c.ForMS), s.Clients[i].Called || c.Called
}

// shownWaiting is how many clients the sentence names.
const shownWaiting = 5

// print is the sentence as people read it; nothing where nobody waits.
func (s *waitingStatus) print(b *bytes.Buffer, l layout) {
	if s.Count == 0 {
		if s.Error != "" {
			l.text(b, "   ", 3, "who waits is not known: "+visible(s.Error))
		}
		return
	}
	var names []string
	for _, c := range s.Clients[:min(len(s.Clients), shownWaiting)] {
		since := seconds(time.Duration(c.ForMS) * time.Millisecond)
		if c.Called {
			since = "called"
		}
		names = append(names, fmt.Sprintf("%s (%s)", printable(cmp.Or(c.Owner, c.Client)), since))
	}
	if more := s.Count - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	verb := "wait"
	if s.Count == 1 {
		verb = "waits"
	}
	l.text(b, "   ", 3, fmt.Sprintf("%s %s: %s", words.Count(s.Count, "client"), verb, strings.Join(names, ", ")))
}
