package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// credentialsGrace is how long a dial waits for a credentials callback after its context has ended.
const credentialsGrace = 500 * time.Millisecond

// A login is what AUTH sends.
type login struct {
	username, password string
	err                error
}

// login returns the credentials for a connection. The callback runs on a goroutine of its own.
// Otherwise a callback that ignores its context would block Close, and a panic in it would end
// the process. Until it has returned it is not called again for this master, so at most one
// goroutine is left behind.
func (d *dialer) login(ctx context.Context) login {
	if d.cfg.Credentials == nil {
		return login{username: d.cfg.Username, password: d.cfg.Password}
	}
	select {
	case d.asking <- struct{}{}:
	case <-ctx.Done():
		return login{err: fmt.Errorf("%w: an earlier call of the callback has not returned", ErrTimeout)}
	}
	result := make(chan login, 1)
	go func() {
		l := login{err: errors.New("the callback ended its goroutine")} // runtime.Goexit
		defer func() {
			if what := recover(); what != nil {
				l = login{err: fmt.Errorf("the callback panicked: %s", Excerpt(fmt.Sprint(what)))}
			}
			<-d.asking
			result <- l
		}()
		l.username, l.password, l.err = d.cfg.Credentials(ctx)
	}()
	select {
	case l := <-result:
		return l
	case <-ctx.Done():
	}
	grace := time.NewTimer(credentialsGrace)
	defer grace.Stop()
	select {
	case l := <-result:
		return l
	case <-grace.C:
		return login{err: fmt.Errorf("%w: the callback ignores that its context has ended", ErrTimeout)}
	}
}

// loginReported is login for the supervisor. While the callback runs, the cause why the master
// is not up says that the dial waits for credentials.
func (p *Pipeline) loginReported(ctx context.Context) login {
	if p.cfg.Credentials == nil {
		return p.dialer.login(ctx)
	}
	p.mu.Lock()
	before := p.cause
	p.mu.Unlock()
	p.explains(&waitingError{before})
	l := p.dialer.login(ctx)
	p.explains(before)
	return l
}

// explains sets the cause why the master is not up, during a dial. Only the supervisor calls it.
func (p *Pipeline) explains(cause error) {
	p.mu.Lock()
	if p.state == closed {
		p.mu.Unlock()
		return
	}
	p.cause = cause
	redialing := p.state == connecting
	p.mu.Unlock()
	p.notifyDown(cause, redialing)
}

// A waitingError says that a dial waits for the credentials callback. It wraps the cause before.
type waitingError struct{ before error }

func (e *waitingError) Error() string { return "waiting for credentials" }
func (e *waitingError) Unwrap() error { return e.before }
