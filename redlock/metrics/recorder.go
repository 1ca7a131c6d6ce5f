package metrics

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redquorum/redlock"
)

// A Recorder counts what one client does. It is safe for concurrent use.
type Recorder struct {
	classOf func(key string) string // nil: there is one class
	only    *class                  // that one

	client  atomic.Pointer[redlock.Client]
	masters sync.Map // address → *master

	// mu guards what follows.
	mu      sync.Mutex
	classes map[string]*class
}

// An Option sets something for a Recorder.
type Option func(*Recorder)

// MaxClasses is how many classes are told apart; further ones are counted
// together as [OtherClass].
const (
	MaxClasses = 200
	OtherClass = "other"
)

// WithClasses counts locks by class: every metric about locks gets the label
// class, with what classOf makes of the key (of the first of several). It is
// called for every event, by any number of goroutines. Let it return few
// different values, such as the part of the key before a colon.
func WithClasses(classOf func(key string) string) Option {
	return func(r *Recorder) { r.classOf = classOf }
}

// New makes a recorder that has counted nothing.
func New(opts ...Option) *Recorder {
	r := &Recorder{classes: make(map[string]*class)}
	for _, opt := range opts {
		opt(r)
	}
	if r.classOf == nil {
		r.only = &class{}
		r.classes[""] = r.only
	}
	return r
}

// Observe has the recorder export what the client knows of its masters: until
// then only what the trace has told is there. A recorder is for one client; the
// last one that was given counts. The client may be closed while it is observed.
func (r *Recorder) Observe(c *redlock.Client) { r.client.Store(c) }

// class gives the counts of a key's class.
func (r *Recorder) class(key string) *class {
	if r.classOf == nil {
		return r.only
	}
	name := strings.ToValidUTF8(r.classOf(key), "?") // as label values have to be
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.classes[name]
	if c == nil && len(r.classes) >= MaxClasses {
		name = OtherClass
		c = r.classes[name]
	}
	if c == nil {
		c = &class{}
		r.classes[name] = c
	}
	return c
}

// master gives the counts of a master.
func (r *Recorder) master(address string) *master {
	if m, ok := r.masters.Load(address); ok {
		return m.(*master)
	}
	m, _ := r.masters.LoadOrStore(address, &master{})
	return m.(*master)
}
