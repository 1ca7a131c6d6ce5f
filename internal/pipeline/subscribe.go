package pipeline

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A Listener gets the events of a subscription. The subscription's goroutine calls its
// methods, one at a time. They must not block, and must not close the subscription.
type Listener interface {
	// Subscribed says that the master has acknowledged: the subscription receives what is
	// published from now on.
	Subscribed()
	// Unsubscribed says that the connection could not be made, or is lost. The next one is
	// being made. It may come several times in a row.
	Unsubscribed(err error)
	// Message passes on a message that was published.
	Message(payload string)
}

// A Subscription listens to one channel of a master, on a connection of its own. A lost connection
// is replaced. Messages that are published in between are lost.
type Subscription struct {
	dialer   *dialer
	channel  string
	listener Listener
	cancel   context.CancelFunc
	done     chan struct{} // closed when the goroutine has ended
}

// Subscribe starts to listen to a channel, in the background. The caller closes the
// subscription, before the pipeline.
func (p *Pipeline) Subscribe(channel string, l Listener) *Subscription {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Subscription{dialer: &p.dialer, channel: channel, listener: l, cancel: cancel, done: make(chan struct{})}
	go s.supervise(ctx)
	return s
}

// Close ends the connection and waits for the goroutine. It blocks as [Pipeline.Close] does, and
// may be called more than once.
func (s *Subscription) Close() {
	s.cancel()
	<-s.done
}

// supervise owns the connection: it listens until it is lost, and dials again.
func (s *Subscription) supervise(ctx context.Context) {
	defer close(s.done)
	for failures := 0; pause(ctx, s.dialer.backoff(failures)); {
		began, err := s.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		// A connection that was cut off after it had listened for a while is no failure.
		// Otherwise the pauses would grow, and waiters would miss more and more messages.
		if failures++; !began.IsZero() && s.dialer.proved(began, failures) {
			failures = 0
		}
		s.listener.Unsubscribed(err)
	}
}

// pause waits for d and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// listen makes one connection and listens to it until it fails. It returns when the master
// acknowledged the subscription; zero: it did not.
func (s *Subscription) listen(ctx context.Context) (began time.Time, err error) {
	w, rc, err := s.dialer.connect(ctx, s.dialer.login, func(h *handshake) error {
		h.name(s.dialer.cfg.ClientName)
		h.send("SUBSCRIBE", "SUBSCRIBE", s.channel)
		return h.run()
	})
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = w.abort() }()
	defer context.AfterFunc(ctx, func() { _ = w.abort() })()
	// From now on the master may send without a request.
	w.asked.Store(math.MaxUint64)
	s.listener.Subscribed()
	began = time.Now()
	pulse := startPulse(w, s.dialer.cfg.StallLimit)
	defer pulse.stop()
	for {
		reply, err := rc.Receive()
		if err != nil {
			if pulse.failed.Load() {
				err = ErrStalled
			}
			return began, connectionError(err)
		}
		pulse.heard.Store(true)
		if payload, ok := published(reply); ok {
			s.listener.Message(payload)
		}
	}
}

// published reads a message. All other replies are answers to PING.
func published(reply any) (payload string, ok bool) {
	parts, err := redis.ByteSlices(reply, nil)
	if err != nil || len(parts) != 3 || string(parts[0]) != "message" {
		return "", false
	}
	return string(parts[2]), true
}

// A pulse finds out whether an idle connection still works. It sends a PING each interval, and
// ends the connection if nothing was received since the last one.
type pulse struct {
	w        *wire
	interval time.Duration
	heard    atomic.Bool
	failed   atomic.Bool

	mu    sync.Mutex // guards what follows; taken by the timer and stop
	timer *time.Timer
	over  bool
}

var ping = AppendCommand(nil, "PING")

func startPulse(w *wire, interval time.Duration) *pulse {
	p := &pulse{w: w, interval: interval}
	p.heard.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(interval, p.beat)
	return p
}

// beat runs on the timer's goroutine, the only one that writes after the handshake. It does not
// block: at most one command at a time is unanswered.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	if !p.heard.Swap(false) {
		p.failed.Store(true)
		_ = p.w.abort()
		return
	}
	p.w.gather(ping)
	if err := p.w.push(); err != nil {
		_ = p.w.abort()
		return
	}
	p.timer.Reset(p.interval)
}

func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.timer.Stop()
}
