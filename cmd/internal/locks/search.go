package locks

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/pool"
)

//go:embed step.lua
var stepScript string

// A Search is how one master was searched, and what that cost. It is what --json prints.
type Search struct {
	Master    string `json:"master"`
	Steps     int    `json:"steps"`
	Keys      int    `json:"keys"`             // that matched the pattern, of any type
	Hidden    int    `json:"hidden,omitempty"` // those of them that this user may not read
	SlowestUS int64  `json:"slowest_us"`       // round trip of a step
	Error     string `json:"error,omitempty"`  // why the search ended before its end

	err error
}

// ended records how the search ended.
func (s *Search) ended(err error) {
	if s.err = err; err != nil {
		s.Error = term.Redacted(explain.Short(err))
	}
}

var (
	errBound    = errors.New("the time was over before all its keys were seen")
	errTooMany  = fmt.Errorf("more than %d keys may be locks: name a pattern that matches fewer", MostNames)
	errNotRedis = errors.New("SCAN: not the reply of a Redis")
)

// A nameSet is the set of keys on all masters that may be locks.
type nameSet struct {
	mu    sync.Mutex // guards names
	names map[string]struct{}
}

// add adds names, and reports whether there was room for all of them.
func (n *nameSet) add(names []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		if _, known := n.names[name]; !known && len(n.names) == MostNames {
			return false
		}
		n.names[name] = struct{}{}
	}
	return true
}

// search looks through all masters at once for keys that may be locks. cut: there may be
// more than names.
func search(
	ctx context.Context, masters []*observe.Master, pattern string,
) (names []string, searches []Search, cut bool) {
	found := &nameSet{names: make(map[string]struct{})}
	searches = make([]Search, len(masters))
	observe.Each(masters, func(i int, m *observe.Master) {
		searches[i].Master = m.Name()
		searches[i].ended(searches[i].run(ctx, m, pattern, found))
	})
	for i := range searches {
		cut = cut || errors.Is(searches[i].err, errTooMany) || errors.Is(searches[i].err, errBound)
	}
	return slices.Sorted(maps.Keys(found.names)), searches, cut
}

// run searches one master.
func (s *Search) run(ctx context.Context, m *observe.Master, pattern string, found *nameSet) error {
	bounded, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	if err := m.Connect(bounded); err != nil {
		return err
	}
	for cursor := "0"; ; {
		next, names, err := s.step(ctx, m, cursor, pattern)
		if err != nil {
			return err
		}
		if !found.add(names) {
			return errTooMany
		}
		if cursor = next; cursor == "0" {
			return nil
		}
		if app.Sleep(ctx, Pause) != nil {
			return errBound
		}
	}
}

// step asks for the next keys.
func (s *Search) step(
	ctx context.Context, m *observe.Master, cursor, pattern string,
) (next string, names []string, err error) {
	bounded, cancel := context.WithTimeout(ctx, StepBound)
	defer cancel()
	a := m.Do(bounded, "EVAL", stepScript, 0, cursor, pattern, StepKeys)
	if errors.Is(a.Err, pool.ErrTimeout) {
		if ctx.Err() != nil {
			return "", nil, errBound
		}
		return "", nil, fmt.Errorf("a step was not answered within %v", StepBound)
	}
	reply, err := redis.Values(a.Reply, a.Err)
	if err != nil {
		return "", nil, forbidden(err)
	}
	var keys, hidden int
	if reply, err = redis.Scan(reply, &next, &keys, &hidden); err != nil {
		return "", nil, errNotRedis
	}
	if err := redis.ScanSlice(reply, &names); err != nil {
		return "", nil, errNotRedis
	}
	s.Steps++
	s.Keys += keys
	s.Hidden += hidden
	s.SlowestUS = max(s.SlowestUS, a.RoundTrip().Microseconds())
	return next, names, nil
}

// forbidden returns err, or the permissions that a search needs if err denies it.
func forbidden(err error) error {
	text := err.Error()
	// In a script, Redis up to 7.0 answers with the second text, and since 7.2 with the third.
	if strings.Contains(text, "NOPERM") ||
		strings.Contains(text, "can't run this command") ||
		strings.Contains(text, "ACL failure in script") {
		return errors.New("this user may not search: it needs +eval +scan +type +pttl")
	}
	return err
}
