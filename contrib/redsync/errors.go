package redsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	upstream "github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/redlock"
)

// The sentinels of redsync: the very same values.
var (
	// ErrFailed: Lock gave up, because its context ended while it waited, no validity was
	// left, or WithTries is below 1.
	ErrFailed = upstream.ErrFailed
	// ErrExtendFailed: Extend took so long that no validity is left.
	ErrExtendFailed = upstream.ErrExtendFailed
	// ErrLockAlreadyExpired: Unlock found the lock expired, or unlocked before.
	ErrLockAlreadyExpired = upstream.ErrLockAlreadyExpired
)

// ErrUnsafeOption is matched by errors of a mutex with an option that could let two clients
// hold the lock. The error names the option and the reason.
var ErrUnsafeOption = errors.New("redsync: an unsafe option is refused")

// The error types of redsync, always as pointers. Their names are redsync's.
type (
	// ErrTaken says that another client holds the lock. Nodes are the masters that had said
	// so by the time of the decision, as numbers in the order of New's pools, or of the URLs
	// of PoolOf's client.
	ErrTaken = upstream.ErrTaken //nolint:errname // see above
	// ErrNodeTaken says that one master has the key of another client.
	ErrNodeTaken = upstream.ErrNodeTaken //nolint:errname // see above
	// A RedisError is why one master did not answer, or may not vote.
	RedisError = upstream.RedisError
)

var (
	errSetNXOnExtend = fmt.Errorf(
		"%w: WithSetNXOnExtend takes a lock again that was lost, "+
			"although another may have held it meanwhile", ErrUnsafeOption)
	errNeverLocked = fmt.Errorf("redsync: the mutex was never locked: %w", redlock.ErrNotHeld)
	errElsewhere   = fmt.Errorf("redsync: no quorum has the value: %w", redlock.ErrNotHeld)
)

func (m *Mutex) unsafeOption() error {
	if m.setNXOnExtend {
		return errSetNXOnExtend
	}
	return nil
}

// A nodesError joins redsync's errors for the masters, as redsync does. It also matches the
// error of redlock.
type nodesError struct {
	nodes   []error
	redlock error
	share   *share // nil: not known
}

func (e *nodesError) Error() string {
	if e.share != nil && e.share.texts != nil {
		return e.share.texts.Replace(e.redlock.Error())
	}
	return e.redlock.Error()
}

func (e *nodesError) Unwrap() []error { return append(slices.Clip(e.nodes), e.redlock) }

func (m *Mutex) nodesError(nodes []error, err error) error {
	s, _ := m.redsync.use()
	return &nodesError{nodes, err, s}
}

// An error that redsync does not wrap is not wrapped here: programs compare it with ==, or
// switch over its type. If redsync joins the errors of several masters, the result also
// matches the error of redlock.

func (m *Mutex) lockError(ctx context.Context, err error) error {
	taken, nodes := m.byNode(err)
	failed, _ := errors.AsType[*redlock.QuorumError](err)
	switch {
	case ctx.Err() != nil:
		return ErrFailed
	case errors.Is(err, redlock.ErrTaken) && (len(taken) == len(nodes) || len(taken) >= failed.Need):
		return &ErrTaken{Nodes: taken}
	case nodes != nil:
		return m.nodesError(nodes, err)
	case errors.Is(err, redlock.ErrNoQuorum):
		return ErrFailed
	}
	return &renamedError{err} // a bad argument, or a closed client
}

// A renamedError names the options that the user wrote, not those of redlock.
type renamedError struct{ error }

var optionNames = strings.NewReplacer("WithLease", "WithExpiry", "WithBackoff", "WithRetryDelayFunc")

func (e *renamedError) Error() string {
	text := optionNames.Replace(e.error.Error())
	if strings.Contains(text, "above WithMaxTTL") {
		text += "; for more, open a client with redlock.WithMaxTTL, by goredis.Open " +
			"of contrib/goredis or by redlock.Open, and give New its PoolOf"
	}
	return text
}

func (e *renamedError) Unwrap() error { return e.error }

func (m *Mutex) unlockError(err error) error {
	lost, _ := errors.AsType[*redlock.LostError](err)
	switch {
	case lost != nil && lost.Reason == redlock.ReasonTaken:
		return m.taken(err)
	case errors.Is(err, redlock.ErrNotHeld):
		return m.nodesError([]error{ErrLockAlreadyExpired}, err)
	}
	return m.unanswered(err)
}

// notHeldError is for Extend and Valid: for a lock that is gone, redsync returns ErrTaken.
func (m *Mutex) notHeldError(err error) error {
	if errors.Is(err, redlock.ErrNotHeld) {
		return m.taken(err)
	}
	return m.unanswered(err)
}

func (m *Mutex) taken(err error) *ErrTaken {
	nodes, _ := m.byNode(err)
	return &ErrTaken{Nodes: nodes}
}

// unanswered is for an operation that too few masters answered.
func (m *Mutex) unanswered(err error) error {
	if _, nodes := m.byNode(err); nodes != nil {
		return m.nodesError(nodes, err)
	}
	return &renamedError{err}
}

// inspectError says why it is unknown who holds a key that was inspected.
func (s *share) inspectError(found *redlock.Inspection) error {
	var nodes []error
	for _, master := range found.Masters {
		if master.Err != nil {
			nodes = append(nodes, &RedisError{Node: s.number[master.Master], Err: master.Err})
		}
	}
	return &nodesError{nodes, fmt.Errorf("redsync: %v: %w", found, redlock.ErrNoQuorum), s}
}

// byNode translates the masters' errors to redsync's. It returns the masters on which
// another client holds the lock, and the errors of all masters.
func (m *Mutex) byNode(err error) (taken []int, nodes []error) {
	failed, _ := errors.AsType[*redlock.QuorumError](err)
	if failed == nil || failed.Nodes == nil {
		return nil, nil
	}
	s, closed := m.redsync.use()
	if closed != nil {
		return nil, nil
	}
	for _, e := range failed.Nodes.Errors {
		node, _ := errors.AsType[*redlock.NodeError](e)
		switch {
		case node == nil || errors.Is(node, redlock.ErrNotAwaited):
		case isHeld(node):
			taken = append(taken, s.number[node.Master])
			nodes = append(nodes, &ErrNodeTaken{Node: s.number[node.Master]})
		default:
			nodes = append(nodes, &RedisError{Node: s.number[node.Master], Err: node.Err})
		}
	}
	return taken, nodes
}

func isHeld(err error) bool {
	_, held := errors.AsType[*redlock.Holder](err)
	return held
}
