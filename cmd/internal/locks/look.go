package locks

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

//go:embed beside.lua
var besideScript string

// group is how many keys are asked about at a time.
const group = 50

// A Kind is a kind of lock.
type Kind string

// Kinds.
const (
	Plain   Kind = "lock"    // or the writer of a read-write lock, which looks the same
	Readers Kind = "readers" // of a read-write lock
	Foreign Kind = "foreign" // a string that expires: of another Redlock client, or no lock at all
	Mixed   Kind = "mixed"   // readers on some masters, a token on others
	Stuck   Kind = "stuck"   // it never expires, or is no lock: a waiter waits for ever
)

// A Lock is a key that is locked, or may be.
type Lock struct {
	*redlock.Inspection
	Kind    Kind
	Readers int    // that are alive, on the master with most of them
	Waiting int    // clients in its queue; -1: not known
	Fence   uint64 // the highest fencing token that was given for this key; 0: none, or not known
}

// look asks all masters about the keys, a group at a time. cut: ctx ended before all were
// asked about.
func (s *Survey) look(
	ctx context.Context, masters []*observe.Master, inspector observe.Inspector, names []string,
) (cut bool, err error) {
	for len(names) > 0 {
		n := min(group, len(names))
		locks, err := lookAt(ctx, masters, inspector, names[:n])
		if ctx.Err() != nil {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		s.Locks = append(s.Locks, locks...)
		if names = names[n:]; len(names) > 0 && app.Sleep(ctx, Pause) != nil {
			return true, nil
		}
	}
	return false, nil
}

// lookAt asks all masters about a group of keys.
func lookAt(
	ctx context.Context, masters []*observe.Master, inspector observe.Inspector, names []string,
) ([]Lock, error) {
	found, errs := make([]Lock, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		if len(name) > longestKey { // no lock of ours, and Inspect refuses it
			continue
		}
		wg.Go(func() {
			in, err := inspector.Inspect(ctx, name)
			found[i], errs[i] = Lock{Inspection: in, Waiting: -1}, err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var locks []Lock
	for _, l := range found {
		if l.Inspection != nil && l.classify() {
			locks = append(locks, l)
		}
	}
	beside(ctx, masters, locks)
	return locks, nil
}

// longestKey is the longest key of a lock of this library, in bytes.
const longestKey = 1024

// classify sets the kind of the lock; false: it is no lock, or no longer one.
func (l *Lock) classify() bool {
	strings, readers, ours := 0, 0, false // masters
	for i := range l.Masters {
		m := &l.Masters[i]
		switch {
		case m.Held == nil:
		case m.Held.Type == "string" && m.Held.TTL >= 0:
			strings++
			_, _, made := tokens.Parse(m.Held.Token)
			ours = ours || made
		case expiresWithReaders(m):
			readers++
			l.Readers = max(l.Readers, m.Held.Readers)
		}
	}
	switch {
	case explain.NobodyReleases(l.Inspection):
		l.Kind = Stuck
	case strings > 0 && readers > 0:
		l.Kind = Mixed
	case readers > 0:
		l.Kind = Readers
	case ours:
		l.Kind = Plain
	default:
		l.Kind = Foreign
	}
	return strings+readers > 0 || l.Kind == Stuck
}

// expiresWithReaders reports whether a sorted set expires with its last member, to the
// second. Otherwise it is not of this library (docs/reference/wire.md).
func expiresWithReaders(m *redlock.MasterHold) bool {
	return m.Held.TTL >= 0 && len(m.Readers) > 0 && (m.Held.TTL-m.Readers[0].TTL).Abs() <= time.Second
}

// beside asks each master for the queues and the fencing tokens of the locks. A master
// that does not answer adds nothing.
func beside(ctx context.Context, masters []*observe.Master, locks []Lock) {
	if len(locks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, StepBound)
	defer cancel()
	args := []any{besideScript, len(locks)}
	for i := range locks {
		args = append(args, locks[i].Key)
	}
	var mu sync.Mutex // guards the locks
	observe.Each(masters, func(_ int, m *observe.Master) {
		if !m.Stats().Connected {
			return
		}
		a := m.Do(ctx, "EVAL", args...)
		reply, err := redis.Values(a.Reply, a.Err)
		if err != nil || len(reply) != 2*len(locks) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range locks {
			locks[i].note(reply[2*i], reply[2*i+1])
		}
	})
}

// note adds the answer of one master.
func (l *Lock) note(waiting, fence any) {
	if n, err := redis.Int(waiting, nil); err == nil {
		l.Waiting = max(l.Waiting, n)
	}
	if text, err := redis.String(fence, nil); err == nil {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			l.Fence = max(l.Fence, n)
		}
	}
}
