package redistest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gomodule/redigo/redis"
)

// Feature is something that not every server has. The server is asked for it, so
// that a fork, or a server that was built without it, is judged by what it does
// and not by its version.
type Feature struct {
	name  string
	since string // the first Redis that has it
	ask   []any  // a command whose reply names the feature, and is empty without it
}

// The features that tests ask for.
var (
	// ACL: several users, and permissions for each. It comes with the commands
	// ACL and CLIENT KILL USER.
	ACL = Feature{"ACL", "6.0", []any{"COMMAND", "INFO", "acl"}}

	// TLS: the server was built with it.
	TLS = Feature{"TLS", "6.0, where it was built in", []any{"CONFIG", "GET", "tls-port"}}
)

// Missing returns nil if the redis-server of [Find] has all these features. The
// error names those that it lacks, if that is why, and then is an
// [*MissingError]. The first call starts a server to ask; its answers are kept.
func Missing(features ...Feature) error {
	if len(features) == 0 {
		return nil
	}
	binary, err := lookUp()
	if err != nil {
		return err
	}
	var lacking []string
	for _, f := range features {
		has, err := known.ask(binary, f)
		if err != nil {
			return fmt.Errorf("redistest: whether %s has %s: %w", binary, f.name, err)
		}
		if !has {
			lacking = append(lacking, fmt.Sprintf("no %s (Redis %s)", f.name, f.since))
		}
	}
	if lacking != nil {
		return &MissingError{what: strings.Join(lacking, ", ")}
	}
	return nil
}

// MissingError says which features the server lacks.
type MissingError struct{ what string }

func (e *MissingError) Error() string { return "left out on this server: it has " + e.what }

// Need skips a test where the server lacks one of the features, and names those.
// Where there is no server at all it leaves the test to [Start].
func Need(tb TB, features ...Feature) {
	tb.Helper()
	if Available() == nil {
		need(tb, features)
	}
}

// need is false, once the test is skipped or has failed, unless the server has
// all features.
func need(tb TB, features []Feature) bool {
	tb.Helper()
	err := Missing(features...)
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		tb.Skipf("%v", err)
	} else if err != nil {
		tb.Fatalf("%v", err)
	}
	return err == nil
}

// Needs are the features without which a server cannot have this configuration.
func (c *Config) Needs() []Feature {
	var all []Feature
	if len(c.ACL) > 0 {
		all = append(all, ACL)
	}
	if c.TLS != nil {
		all = append(all, TLS)
	}
	return all
}

// known holds what servers have answered, by the path of the binary.
var known answers

type answers struct {
	mu  sync.Mutex // guards has, and is held while a server is asked
	has map[string]map[string]bool
}

func (a *answers) ask(binary string, f Feature) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if has, ok := a.has[binary][f.name]; ok {
		return has, nil
	}
	s, err := Launch(context.Background(), Config{})
	if err != nil {
		return false, err
	}
	has, err := s.names(f)
	if err := errors.Join(err, s.Close()); err != nil {
		return false, err
	}
	if a.has == nil {
		a.has = map[string]map[string]bool{}
	}
	if a.has[binary] == nil {
		a.has[binary] = map[string]bool{}
	}
	a.has[binary][f.name] = has
	return has, nil
}

// names says whether the reply of the feature's question holds anything.
func (s *Server) names(f Feature) (bool, error) {
	reply, err := redis.Values(s.Do(f.ask[0].(string), f.ask[1:]...))
	if err != nil {
		return false, err
	}
	// An unknown command is a nil in the list, an unknown setting is not listed.
	for _, item := range reply {
		if item != nil {
			return true, nil
		}
	}
	return false, nil
}
