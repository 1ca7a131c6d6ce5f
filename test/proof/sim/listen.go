package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// blockListeners has the log handler and the trace of a client block for a while.
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

// listen is what listeners do before anything else: they block while they are made to.
func (c *client) listen() {
	c.mu.Lock()
	blocked := c.blocked
	c.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
}

// logger is the client's: nobody reads it, but it may block.
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

// keeperTick is how much later than the end of its validity a context may end, where clocks
// differ in their rates.
const keeperTick = 60 * time.Millisecond

// heard looks whether the holder of a lock that is over has been told.
func (k *worker) heard(l *redlock.Lock) {
	if k.w.p.Blocks == 0 || l.Remaining() > 0 {
		return
	}
	k.sleep(keeperTick)
	select {
	case <-l.Context().Done():
	default:
		k.w.violated(history.Unheard, fmt.Sprintf("%s: the context of %s has not ended", k.name, l.Key()))
	}
}
