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

// queueBound is how long the masters have to tell their queues.
const queueBound = 500 * time.Millisecond

// Waiting asks all masters that are connected at once who waits for a key. One master keeps the queue of a
// lock at a time, and a further one for a while when that has changed.
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

// A WaitingStatus is who waits for a key, in what --json prints.
type WaitingStatus struct {
	Count   int             `json:"count"`
	Clients []WaitingClient `json:"clients"`         // those that have waited longest, about 100 at the most
	Error   string          `json:"error,omitempty"` // why a master does not tell
}

// A WaitingClient is a client in the queue of a lock.
type WaitingClient struct {
	Client string `json:"client"`           // the id with which its tokens begin, or follow its owner's name
	Owner  string `json:"owner,omitempty"`  // the client's name
	ForMS  int64  `json:"for_ms"`           // since when it has waited; 0 where it was called
	Called bool   `json:"called,omitempty"` // it is told that the lock is free
}

// add counts a client once, on whatever master it is.
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

// Print is the sentence as people read it; nothing where nobody waits.
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
