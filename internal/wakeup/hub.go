// Package wakeup listens for the messages that tell a client to try for a lock. It keeps
// one subscription to each master, on the client's own channel. The subscription is open
// only while a call waits and for a few seconds after that.
package wakeup

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// Prefix begins the channels; the client's id follows.
const Prefix = "redquorum:w:1:"

// ForAll begins the names of keys for which all waiters are woken instead of only the
// first: a lock's readers. The lock's key follows.
const ForAll = "redquorum:r:"

// Idle is how long a subscription is kept when nobody waits.
const Idle = 3 * time.Second

// A Master can be subscribed to; it is a *pipeline.Pipeline.
type Master interface {
	Subscribe(channel string, l pipeline.Listener) *pipeline.Subscription
}

// A Hub has the subscriptions of one client, and passes their messages to the waiters. It
// is safe for concurrent use.
type Hub struct {
	masters []Master
	channel string
	passOn  func(master int, key string)

	closing sync.WaitGroup // subscriptions that are being closed

	// mu guards what follows. Nothing blocks, and passOn is not called, under it.
	mu      sync.Mutex
	links   []*link
	waiters map[string][]*Waiter
	closed  bool
}

// New makes a hub without any connection. If a message comes for a key that no call waits
// for any more, the hub calls passOn, which must wake the next client. passOn must not
// block.
func New(masters []Master, id string, passOn func(master int, key string)) *Hub {
	return &Hub{
		masters: masters,
		channel: Prefix + id,
		passOn:  passOn,
		links:   make([]*link, len(masters)),
		waiters: make(map[string][]*Waiter),
	}
}

// A Waiter is one call that waits for one or several keys. A message wakes the key's first
// waiter, or all waiters if ForAll begins the key's name.
type Waiter struct {
	hub   *Hub
	keys  []string
	woken chan Call
	links uint64 // masters that it holds a subscription of; guarded by hub.mu
}

// A Call says for which key, and at which master, it is a waiter's turn.
type Call struct {
	Master int
	Key    string
}

// Wait registers a waiter, which must call Leave. The keys must not be changed.
func (h *Hub) Wait(keys ...string) *Waiter {
	w := &Waiter{hub: h, keys: keys, woken: make(chan Call, len(h.masters)+len(keys))}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		h.waiters[key] = append(h.waiters[key], w)
	}
	return w
}

// Call wakes the first waiter of the key (see ForAll), as a message of the master does. It
// reports whether a waiter was woken.
func (h *Hub) Call(master int, key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.waiters[key]
	if len(all) == 0 {
		return false
	}
	if !strings.HasPrefix(key, ForAll) {
		return all[0].wake(Call{master, key})
	}
	woken := false
	for _, w := range all {
		woken = w.wake(Call{master, key}) || woken
	}
	return woken
}

// wake reports false if too many calls wait for the waiter already.
func (w *Waiter) wake(call Call) bool {
	select {
	case w.woken <- call:
		return true
	default:
		return false
	}
}

// Woken returns the channel of the waiter's calls.
func (w *Waiter) Woken() <-chan Call { return w.woken }

// Subscribe subscribes to the master's messages, unless that was done before. The channel
// is closed when the master has confirmed the subscription.
func (w *Waiter) Subscribe(master int) <-chan struct{} {
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
	if w.links&(1<<master) == 0 {
		w.links |= 1 << master
		l.users++
	}
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	return l.ready
}

// Leave ends the waiting, and returns the calls that were not read from Woken.
func (w *Waiter) Leave() (unheard []Call) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range w.keys {
		h.waiters[key] = slices.DeleteFunc(h.waiters[key], func(other *Waiter) bool { return other == w })
		if len(h.waiters[key]) == 0 {
			delete(h.waiters, key)
		}
	}
	w.keys = nil
	for i, l := range h.links {
		if l != nil && w.links&(1<<i) != 0 {
			l.release()
		}
	}
	w.links = 0
	for {
		select {
		case call := <-w.woken:
			unheard = append(unheard, call)
		default:
			return unheard
		}
	}
}

// Close ends all subscriptions and waits for them. It may be called more than
// once.
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

// A link is the subscription to one master, from its first waiter until it is
// idle.
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
		l.idle = time.AfterFunc(Idle, l.expire)
	}
}

// expire ends the link if it is still idle.
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
func (l *link) Message(key string) {
	if !l.hub.Call(l.master, key) {
		l.hub.passOn(l.master, key)
	}
}
