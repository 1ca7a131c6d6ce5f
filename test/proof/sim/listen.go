package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// blockListeners makes the log handler and the trace of a client block for a while.
func (w *world) blockListeners(d *dice) {
	c := w.clients[d.upTo(len(w.clients))]
	release := make(chan struct{})
	c.setBlocked(release)
	w.net.count(func(s *Stats) { s.Blocks++ })
	w.trace.note("FAULT", fmt.Sprintf("listeners of %s block", c.name))
	w.lasting(blockFault, d)
	c.setBlocked(nil)
	close(release)
	w.trace.note("FAULT", fmt.Sprintf("listeners of %s go on", c.name))
}

func (c *client) setBlocked(until chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocked = until
}

// listen blocks while the client's listeners are blocked. Each listener calls it first.
func (c *client) listen() {
	c.mu.Lock()
	blocked := c.blocked
	c.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
}

// logger returns the client's logger, which discards its records but may block.
func (c *client) logger() *slog.Logger {
	if c.w.p.Blocks == 0 {
		return nil
	}
	return slog.New(logHandler{slog.DiscardHandler, c})
}

type logHandler struct {
	slog.Handler
	c *client
}

func (h logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (h logHandler) Handle(context.Context, slog.Record) error {
	h.c.listen()
	return nil
}

// renewerTick is how long after its validity a context may end, because clocks run at different
// rates.
const renewerTick = 60 * time.Millisecond

// heard checks that the context of a lock has ended if its validity is over.
func (k *worker) heard(l *redlock.Lock) {
	if k.w.p.Blocks == 0 || l.Remaining() > 0 {
		return
	}
	k.sleep(renewerTick)
	select {
	case <-l.Context().Done():
	default:
		k.w.violated(history.Unheard, fmt.Sprintf("%s: the context of %s has not ended", k.name, l.Key()))
	}
}
