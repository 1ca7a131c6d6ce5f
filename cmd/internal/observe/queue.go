package observe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/term"
)

// queueBound is how long the masters have to send their queues.
const queueBound = 500 * time.Millisecond

// Waiting asks all connected masters at once who waits for a key. One master, the pilot, keeps the
// queue of a lock. After the pilot has changed, another one has a queue for a while, too.
func (f *Fleet) Waiting(ctx context.Context, key string) *WaitingStatus {
	ctx, cancel := context.WithTimeout(ctx, queueBound)
	defer cancel()
	type queue struct {
		first []WaitingClient
		all   int
		err   error
	}
	queues := make([]queue, len(f.Lines))
	Each(f.Lines, func(i int, m *Master) {
		if q := &queues[i]; m.Stats().Connected {
			q.first, q.all, q.err = m.Queue(ctx, key)
		}
	})
	s := &WaitingStatus{Clients: []WaitingClient{}}
	for _, q := range queues {
		if q.err != nil {
			s.Error = cmp.Or(s.Error, term.Redacted(q.err.Error()))
			continue
		}
		s.Count = max(s.Count, q.all)
		for _, c := range q.first {
			s.add(c)
		}
	}
	s.Count = max(s.Count, len(s.Clients))
	slices.SortStableFunc(s.Clients, func(a, b WaitingClient) int { return cmp.Compare(b.ForMS, a.ForMS) })
	return s
}

// A WaitingStatus is who waits for a key, as --json prints it.
type WaitingStatus struct {
	Count   int             `json:"count"`
	Clients []WaitingClient `json:"clients"`         // those that have waited longest, about 100 at the most
	Error   string          `json:"error,omitempty"` // why a master did not send its queue
}

// A WaitingClient is a client in the queue of a lock.
type WaitingClient struct {
	Client string `json:"client"`           // the id at the beginning of its tokens, or behind its owner's name there
	Owner  string `json:"owner,omitempty"`  // the client's name
	ForMS  int64  `json:"for_ms"`           // how long it has waited; 0 where it was called
	Called bool   `json:"called,omitempty"` // it was told that the lock is free
}

// add adds a client once, even if several masters have it.
func (s *WaitingStatus) add(c WaitingClient) {
	i := slices.IndexFunc(s.Clients, func(o WaitingClient) bool { return o.Client == c.Client })
	if i < 0 {
		s.Clients = append(s.Clients, c)
		return
	}
	s.Clients[i].ForMS, s.Clients[i].Called = max(s.Clients[i].ForMS, c.ForMS), s.Clients[i].Called || c.Called
}

// shownWaiting is how many clients the sentence names.
const shownWaiting = 5

// Print prints the sentence for people; nothing where nobody waits.
func (s *WaitingStatus) Print(b *bytes.Buffer, l term.Layout) {
	if s.Count == 0 {
		if s.Error != "" {
			l.Text(b, "   ", 3, "who waits is not known: "+term.Visible(s.Error))
		}
		return
	}
	var names []string
	for _, c := range s.Clients[:min(len(s.Clients), shownWaiting)] {
		since := term.Seconds(time.Duration(c.ForMS) * time.Millisecond)
		if c.Called {
			since = "called"
		}
		names = append(names, fmt.Sprintf("%s (%s)", term.Printable(cmp.Or(c.Owner, c.Client)), since))
	}
	if more := s.Count - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	l.Text(b, "   ", 3, fmt.Sprintf("%s %s: %s",
		term.Count(s.Count, "client"), term.Does(s.Count, "wait"), strings.Join(names, ", ")))
}
