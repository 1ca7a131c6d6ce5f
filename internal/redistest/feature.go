package redistest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	shown func(s *Server) (bool, error)
}

// The features that tests ask for.
var (
	// ACL: several users, and permissions for each. It comes with the commands
	// ACL and CLIENT KILL USER.
	ACL = Feature{"ACL", "6.0", listed("COMMAND", "INFO", "acl")}

	// TLS: the server was built with it.
	TLS = Feature{"TLS", "6.0, where it was built in", listed("CONFIG", "GET", "tls-port")}

	// SubcommandStats: INFO commandstats counts CLIENT ID, say, by itself.
	SubcommandStats = Feature{"commandstats of subcommands", "7.0", listed("COMMAND", "INFO", "client|id")}

	// LoadDelay: a server can be made slow to load its data.
	LoadDelay = Feature{"key-load-delay", "6.0", listed("CONFIG", "GET", "key-load-delay")}

	// ReplicasForScripts: min-replicas-to-write holds for what scripts write, too.
	ReplicasForScripts = Feature{"min-replicas-to-write for scripts", "6.0", func(s *Server) (bool, error) {
		if _, err := s.Do("CONFIG", "SET", "min-replicas-to-write", 1); err != nil {
			return false, err
		}
		return refused("EVAL", "return redis.call('SET', KEYS[1], '')", 1, "key")(s)
	}}

	// BoundedTTL: a TTL by which the expiry would overflow is an error. Without, the
	// key expires at once.
	BoundedTTL = Feature{"error for a TTL that overflows", "6.2", refused("SET", "key", "value", "PX", int64(math.MaxInt64))}
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
	has, err := f.shown(s)
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

// listed is a question whose reply is a list: with the feature, of what is known
// of it.
func listed(cmd string, args ...any) func(*Server) (bool, error) {
	return func(s *Server) (bool, error) {
		reply, err := redis.Values(s.Do(cmd, args...))
		// An unknown setting is not listed, an unknown command is as nil.
		return slices.ContainsFunc(reply, func(item any) bool { return item != nil }), err
	}
}

// refused is a command that is refused with the feature, and executed without.
func refused(cmd string, args ...any) func(*Server) (bool, error) {
	return func(s *Server) (bool, error) {
		_, err := s.Do(cmd, args...)
		if reply := redis.Error(""); errors.As(err, &reply) {
			return true, nil
		}
		return false, err
	}
}
