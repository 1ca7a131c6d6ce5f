package goredis

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9/auth"
)

// A subscription follows a streaming provider of credentials for one master.
type subscription struct {
	provider auth.StreamingCredentialsProvider

	mu          sync.Mutex           // guards what follows; the provider is not called under it
	last        auth.Credentials     // nil: none yet
	unsubscribe auth.UnsubscribeFunc // nil: not subscribed
	ended       bool
}

// OnNext implements auth.CredentialsListener.
func (s *subscription) OnNext(credentials auth.Credentials) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = credentials
}

// OnError implements auth.CredentialsListener. The last credentials stay: if they are no
// longer right, the next dial fails.
func (s *subscription) OnError(error) {}

// credentials returns the latest credentials. The pool calls it for one dial at a time.
func (s *subscription) credentials(context.Context) (username, password string, err error) {
	s.mu.Lock()
	subscribed := s.unsubscribe != nil
	s.mu.Unlock()
	if !subscribed {
		if err := s.begin(); err != nil {
			return "", "", err
		}
	}
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last == nil {
		return "", "", errors.New("the streaming provider has given no credentials")
	}
	username, password = last.BasicAuth()
	return username, password, nil
}

func (s *subscription) begin() error {
	first, unsubscribe, err := s.provider.Subscribe(s)
	if err != nil {
		return err
	}
	if unsubscribe == nil {
		unsubscribe = func() error { return nil }
	}
	s.mu.Lock()
	if s.last == nil { // otherwise OnNext was called in between
		s.last = first
	}
	s.unsubscribe = unsubscribe
	ended := s.ended
	s.mu.Unlock()
	if ended { // Close did not wait for this call
		_ = unsubscribe()
	}
	return nil
}

func (s *subscription) end() {
	s.mu.Lock()
	s.ended = true
	unsubscribe := s.unsubscribe
	s.mu.Unlock()
	if unsubscribe != nil {
		_ = unsubscribe()
	}
}
