package pipeline

import (
	"context"
	"slices"
)

// The first acquisition of a client may go out with the handshake of the first connection
// (Command.Undo). It saves the round trip of the handshake.

// An early is the calls that have gone out with a handshake, and the replies to their check.
type early struct {
	calls   []*Call
	check   *Check
	replies [checkSize]any
}

// takeEarly takes the calls that may go out with the handshake from the head of the queue.
// Calls behind another one stay: the order of the queue is kept (invariant S5). So do all
// once the pipeline is closed: no release would follow them.
func (p *Pipeline) takeEarly() (e early) {
	p.mu.Lock()
	n := 0
	for p.state != closed && n < len(p.queue) && p.queue[n].Undo != nil {
		n++
	}
	taken := slices.Clone(p.queue[:n])
	p.queue = slices.Delete(p.queue, 0, n)
	p.used = p.used || n > 0
	p.mu.Unlock()
	for _, c := range taken {
		if c.Owner.Abandoned(c) {
			p.complete(c, ErrAbandoned)
			continue
		}
		if c.Sent = true; c.Check != nil {
			e.check = c.Check
		}
		e.calls = append(e.calls, c)
	}
	return e
}

// ask sends the calls, and their check behind them.
func (e *early) ask(h *handshake) {
	h.greet(e.calls)
	if e.check == nil {
		return
	}
	for i, command := range e.check.commands {
		reply := &Call{Command: &Command{Encoded: command}}
		h.steps = append(h.steps, step{then: func(reply any) { e.replies[i] = reply }, orError: true})
		h.gather(reply.Encoded)
	}
}

// answered completes the calls on a connection that has come up and was judged.
func (e *early) answered(p *Pipeline, epoch uint64) {
	var said *Checked
	if e.check != nil {
		said = &Checked{}
		said.Mark, said.Err = e.check.read(e.replies)
	}
	for _, c := range e.calls {
		c.Epoch = epoch
		if c.Check != nil {
			c.Checked = said
		}
		if c.Err != nil {
			p.failures.Add(1)
		}
		p.commands.Add(1)
		p.completed.Add(1)
		c.Owner.Complete(c)
	}
}

// lost completes the calls of a handshake that failed. The master may have executed them.
func (e *early) lost(ctx context.Context, p *Pipeline, err error) {
	for _, c := range e.calls {
		if ctx.Err() != nil {
			p.complete(c, ErrClosed)
			continue
		}
		p.complete(c, &DownError{err})
	}
}

// takeBack undoes the calls on a server that has refused the handshake, but may execute
// what follows it, perhaps as another user. It waits for the answers: the caller closes the
// connection, which may throw away what was not read.
func (e *early) takeBack(h *handshake) {
	if len(e.calls) == 0 || !h.refused {
		return
	}
	for _, c := range e.calls {
		h.gather(c.Undo)
	}
	if h.w.push() != nil {
		return
	}
	for range h.unread + len(e.calls) {
		if _, err := h.rc.Receive(); err != nil && !isReply(err) {
			return
		}
	}
}
