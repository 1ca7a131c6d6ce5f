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
	// ErrFailed: Lock gave up, since its context ended while it waited, or with
	// no tries.
	ErrFailed = upstream.ErrFailed
	// ErrExtendFailed: Extend took so long that no validity is left.
	ErrExtendFailed = upstream.ErrExtendFailed
	// ErrLockAlreadyExpired: Unlock found the lock expired, or unlocked before.
	ErrLockAlreadyExpired = upstream.ErrLockAlreadyExpired
)

// ErrUnsafeOption is matched where the mutex has an option that could let two hold
// the lock. The error says which, and why.
var ErrUnsafeOption = errors.New("redsync: an unsafe option is refused")

// The error types of redsync, always as pointers. Their names are redsync's.
type (
	// ErrTaken says that another holds the lock. Nodes are the masters that had
	// said so when that was decided, as numbers in the order of the pools of New, or
	// of the URLs of the client of PoolOf.
	ErrTaken = upstream.ErrTaken //nolint:errname // see above
	// ErrNodeTaken says that another's key stands on one master.
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

// A nodesError says what each master said, in redsync's terms, as redsync's joined errors
// do. It matches the error of redlock too.
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

// What redsync returns bare is returned bare: programs compare it with ==, and its type
// in a switch. Where redsync joins the errors of several masters, the result matches the
// error of redlock as well.

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

// A renamedError speaks of the options that the user wrote.
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

// notHeldError is of Extend and Valid: redsync calls a lock taken that is not there.
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

// unanswered is for a question to which too few masters gave an answer.
func (m *Mutex) unanswered(err error) error {
	if _, nodes := m.byNode(err); nodes != nil {
		return m.nodesError(nodes, err)
	}
	return &renamedError{err}
}

// inspectError says of a key that was looked at why nothing can be said of it.
func (s *share) inspectError(found *redlock.Inspection) error {
	var nodes []error
	for _, master := range found.Masters {
		if master.Err != nil {
			nodes = append(nodes, &RedisError{Node: s.number[master.Master], Err: master.Err})
		}
	}
	return &nodesError{nodes, fmt.Errorf("redsync: %v: %w", found, redlock.ErrNoQuorum), s}
}

// byNode tells what each master said in redsync's terms: which have the lock for
// another, and the errors of all.
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
