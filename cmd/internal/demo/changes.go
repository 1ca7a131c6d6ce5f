package demo

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
)

// changes watches masters that others run, and prints each change and its effect on locks.
type changes struct {
	run     *run
	mu      sync.Mutex // guards what follows
	printed []sight    // for each master, the state that was printed last
	at      time.Time  // when a master last changed
}

const changePoll = 50 * time.Millisecond

// follow starts a goroutine that watches the masters until stop is called. stop waits for it.
func (c *changes) follow() (stop func()) {
	c.printed = seeAll(c.run.clients[0])
	return app.Repeat(changePoll, func() { c.look(seeAll(c.run.clients[0])) })
}

// look prints the masters whose state has changed.
func (c *changes) look(now []sight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range now {
		if now[i].open || now[i].same(&c.printed[i]) {
			continue
		}
		before := votes(c.printed)
		c.printed[i], c.at = now[i], time.Now()
		text := change(&now[i], before, votes(c.printed), c.run.total, c.run.quorum)
		c.run.Screen.paragraph("   "+c.run.Screen.Dim("·")+" ", 5, text)
	}
}

// change returns the line about a changed master. before and after are how many masters vote.
func change(s *sight, before, after, total, quorum int) string {
	what := s.text
	switch s.state {
	case seenUp:
		what = "votes again"
	case seenGone:
		what = "is gone"
	case seenSilent, seenAbstains:
		what, _, _ = strings.Cut(strings.TrimPrefix(what, "was "), "; it votes again at ") // to fit into 80 columns
	}
	if s.why != nil && s.why.Left > 0 {
		what += ", votes at " + s.why.Until.Add(time.Second-1).Local().Format(time.TimeOnly)
	}
	so := "no lock is lost"
	switch {
	case after < quorum && before >= quorum:
		so = "no lock is granted, none is held twice"
	case after < quorum:
		so = "no quorum"
	case after > before:
		so = "locks are granted"
	}
	return fmt.Sprintf("%s %s: %d of %d vote, %s", s.master, what, after, total, so)
}

// last returns when a master was last seen to change; zero: never.
func (c *changes) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}
