package waitqueue

import (
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// ChannelPrefix begins the channels; the client's id follows.
const ChannelPrefix = "redquorum:w:1:"

// ReadersPrefix begins the messages to readers that wait; the lock's key follows.
const ReadersPrefix = "redquorum:r:"

// HubIdle is how long a subscription is kept while no call waits.
const HubIdle = 3 * time.Second

// A Master can be subscribed to; it is a *pipeline.Pipeline.
type Master interface {
	Subscribe(channel string, l pipeline.Listener) *pipeline.Subscription
}

// A Hub listens for the messages that tell a client to try for a lock. It keeps one
// subscription to each master, on the client's own channel, only while a call waits and for a
// few seconds after that. It is safe for concurrent use.
type Hub struct {
	masters []Master
	channel string
	heard   func(WakeUp)

	closing sync.WaitGroup // subscriptions that are being closed

	// mu guards what follows. Nothing blocks, and heard is not called, under it.
	mu     sync.Mutex
	links  []*link
	closed bool
}

// NewHub makes a hub without any connection. It calls heard for each message. heard must not
// block.
func NewHub(masters []Master, id string, heard func(WakeUp)) *Hub {
	return &Hub{masters: masters, channel: ChannelPrefix + id, heard: heard, links: make([]*link, len(masters))}
}

// A Subscribed is one call that wants the messages of some masters.
type Subscribed struct {
	hub   *Hub
	links quorum.MasterSet // masters that it holds a subscription of; guarded by hub.mu
}

// A WakeUp says for which key, and at which master, it is a client's turn.
type WakeUp struct {
	Master int
	Key    string
}

// Wait registers a waiter, which must call Leave.
func (h *Hub) Wait() *Subscribed { return &Subscribed{hub: h} }

// Subscribe subscribes to the master's messages, unless that was done before. The channel
// is closed when the master has confirmed the subscription.
func (w *Subscribed) Subscribe(master int) <-chan struct{} {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return make(chan struct{})
	}
	l := h.links[master]
	if l == nil {
		l = &link{hub: h, master: master, ready: make(chan struct{})}
		h.links[master] = l
		l.sub = h.masters[master].Subscribe(h.channel, l)
	}
	if !w.links.Has(master) {
		w.links.Add(master)
		l.users++
	}
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	return l.ready
}

// Leave ends the waiting.
func (w *Subscribed) Leave() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, l := range h.links {
		if l != nil && w.links.Has(i) {
			l.release()
		}
	}
	w.links = 0
}

// Close ends all subscriptions and waits for them. It may be called more than once.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for _, l := range h.links {
		if l != nil {
			l.end()
		}
	}
	h.mu.Unlock()
	h.closing.Wait()
}

// A link is the subscription to one master, from its first waiter until it is idle.
type link struct {
	hub    *Hub
	master int
	sub    *pipeline.Subscription

	// Guarded by hub.mu.
	up    bool
	ready chan struct{} // closed while up
	users int
	idle  *time.Timer
}

// release is called for a waiter that does not need the link any more. The caller must
// hold hub.mu.
func (l *link) release() {
	if l.users--; l.users == 0 && !l.hub.closed {
		l.idle = time.AfterFunc(HubIdle, l.expire)
	}
}

func (l *link) expire() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if l.users == 0 && l.idle != nil && l.hub.links[l.master] == l {
		l.end()
	}
}

// end closes the subscription, without waiting. The caller must hold hub.mu.
func (l *link) end() {
	if l.idle != nil {
		l.idle.Stop()
	}
	l.hub.links[l.master] = nil
	l.hub.closing.Go(l.sub.Close)
}

// Subscribed implements pipeline.Listener.
func (l *link) Subscribed() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if !l.up {
		l.up = true
		close(l.ready)
	}
}

// Unsubscribed implements pipeline.Listener.
func (l *link) Unsubscribed(error) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if l.up {
		l.up, l.ready = false, make(chan struct{})
	}
}

// Message implements pipeline.Listener.
func (l *link) Message(key string) { l.hub.heard(WakeUp{l.master, key}) }
