package demo

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
)

// changes watches masters that others run, and says in a line for each change what is lost and what is not.
type changes struct {
	run  *run
	mu   sync.Mutex // guards what follows
	told []sight    // of each master, what was told last
	at   time.Time  // of the last change
}

const changePoll = 50 * time.Millisecond

// follow does so until the function that it returns is called, which waits for its goroutine.
func (c *changes) follow() (stop func()) {
	c.told = seeAll(c.run.clients[0])
	return app.Repeat(changePoll, func() { c.look(seeAll(c.run.clients[0])) })
}

// look tells of masters that are seen otherwise than before.
func (c *changes) look(now []sight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range now {
		if now[i].open || now[i].same(&c.told[i]) {
			continue
		}
		before := votes(c.told)
		c.told[i], c.at = now[i], time.Now()
		text := change(&now[i], before, votes(c.told), c.run.total, c.run.quorum)
		c.run.Screen.paragraph("   "+c.run.Screen.Dim("·")+" ", 5, text)
	}
}

// change says what has become of a master, by which the votes have changed.
func change(s *sight, before, after, total, quorum int) string {
	what := s.text
	switch s.state {
	case seenUp:
		what = "votes again"
	case seenGone:
		what = "is gone"
	case seenSilent, seenAbstains:
		what, _, _ = strings.Cut(strings.TrimPrefix(what, "was "), "; it votes again at ") // a line has 80 columns
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

// last is when a master was seen to change; zero: none was.
func (c *changes) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}
