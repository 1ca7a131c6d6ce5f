package redlock

import (
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// successors is a client as package wire sees it, which tells it of releases.
type successors Client

// Released implements wire.Successors.
func (s *successors) Released(master int, key string, to wire.Successor) {
	(*Client)(s).released(master, key, to)
}

// AnybodyWaits implements wire.Successors.
func (s *successors) AnybodyWaits() bool { return s.lines.anybody() }

// WasContended implements wire.Successors.
func (s *successors) WasContended(key string) { (*Client)(s).setContended(key, true) }

// released is told of the pilot's answer to a release. When another client was
// told, those who wait here wait on, or else one process would starve the
// others.
func (c *Client) released(pilot int, key string, to wire.Successor) {
	switch to {
	case wire.AnotherClient:
	case wire.ThisClient:
		if !c.hub.Call(pilot, key) && !c.lines.wakeFirst(key) {
			c.wire.LeaveQueue(pilot, key)
		}
	default: // who queues up nowhere, or at another master, may wait here
		if c.lines.anybody() && !c.lines.wakeFirst(key) {
			c.hub.Call(pilot, key)
		}
	}
}

// passOn gives back a wake-up that its waiter does not need any more: the next
// one of this client gets it, or else the next one in the queue.
func (c *Client) passOn(master int, key string) {
	if !c.hub.Call(master, key) {
		c.wire.LeaveQueue(master, key)
	}
}

// subscribable is the masters as package wakeup sees them.
func subscribable(masters []*pipeline.Pipeline) []wakeup.Master {
	all := make([]wakeup.Master, len(masters))
	for i, m := range masters {
		all[i] = m
	}
	return all
}
