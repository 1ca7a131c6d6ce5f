package redsync

import (
	"context"
	"errors"
	"fmt"

	upstream "github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/redlock"
)

// The sentinels of redsync: the very same values. An error that matches one of
// them, or has one of the types below, also matches those of package redlock.
var (
	// ErrFailed: Lock gave up, since its context ended while it waited, or with
	// no tries.
	ErrFailed = upstream.ErrFailed
	// ErrExtendFailed: Extend failed, the lock is lost.
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
	// said so when that was decided, as numbers in the order of the client's URLs.
	ErrTaken = upstream.ErrTaken //nolint:errname // see above
	// ErrNodeTaken says that another's key stands on one master.
	ErrNodeTaken = upstream.ErrNodeTaken //nolint:errname // see above
	// A RedisError is why one master did not answer, or may not vote.
	RedisError = upstream.RedisError
)

var (
	errSetNXOnExtend = fmt.Errorf("%w: WithSetNXOnExtend takes a lock again that was lost, although another may have held it meanwhile", ErrUnsafeOption)
	errRepeatedValue = fmt.Errorf("%w: the function of WithGenValueFunc repeats a value; with one value for two holders, one that comes too late releases the other's lock", ErrUnsafeOption)
	errNeverLocked   = fmt.Errorf("redsync: the mutex was never locked: %w", redlock.ErrNotHeld)
	errElsewhere     = fmt.Errorf("redsync: no quorum has the value: %w", redlock.ErrNotHeld)
)

func (m *Mutex) unsafeOption() error {
	if m.setNXOnExtend {
		return errSetNXOnExtend
	}
	return nil
}

// A doubleError is an error of redlock that matches an error of redsync too.
type doubleError struct {
	redsync, redlock error
}

func (e *doubleError) Error() string   { return e.redlock.Error() }
func (e *doubleError) Unwrap() []error { return []error{e.redsync, e.redlock} }

// lockError puts the error of redsync beside one of redlock.Client.Lock.
func (m *Mutex) lockError(ctx context.Context, err error) error {
	taken, nodes := m.byNode(ctx, err)
	switch {
	case ctx.Err() != nil:
		return &doubleError{ErrFailed, err}
	case errors.Is(err, redlock.ErrTaken):
		return &doubleError{&ErrTaken{Nodes: taken}, err}
	case nodes != nil:
		return &doubleError{nodes, err}
	case errors.Is(err, redlock.ErrNoQuorum):
		return &doubleError{ErrFailed, err}
	}
	return err // a bad argument, or a closed client
}

func (m *Mutex) unlockError(ctx context.Context, err error) error {
	lost, _ := errors.AsType[*redlock.LostError](err)
	switch {
	case lost != nil && lost.Reason == redlock.ReasonTaken:
		return &doubleError{&ErrTaken{}, err}
	case errors.Is(err, redlock.ErrNotHeld):
		return &doubleError{ErrLockAlreadyExpired, err}
	}
	return m.unanswered(ctx, err)
}

// extendError and verifyError: redsync calls a lock taken that is not there.
func (m *Mutex) extendError(ctx context.Context, err error) error {
	if errors.Is(err, redlock.ErrNotHeld) {
		return &doubleError{errors.Join(ErrExtendFailed, &ErrTaken{}), err}
	}
	return m.unanswered(ctx, err)
}

func (m *Mutex) verifyError(ctx context.Context, err error) error {
	if errors.Is(err, redlock.ErrNotHeld) {
		return &doubleError{&ErrTaken{}, err}
	}
	return m.unanswered(ctx, err)
}

// unanswered is for a question to which too few masters gave an answer.
func (m *Mutex) unanswered(ctx context.Context, err error) error {
	if _, nodes := m.byNode(ctx, err); nodes != nil {
		return &doubleError{nodes, err}
	}
	return err
}

// inspectError says of a key that was looked at why nothing can be said of it.
func (m *Mutex) inspectError(found *redlock.Inspection) error {
	var nodes []error
	for i, master := range found.Masters {
		if master.Err != nil {
			nodes = append(nodes, &RedisError{Node: i, Err: master.Err})
		}
	}
	return &doubleError{errors.Join(nodes...), fmt.Errorf("redsync: %v: %w", found, redlock.ErrNoQuorum)}
}

// byNode tells what each master said in redsync's terms: which have the lock for
// another, and an error that joins those of all; nil without any.
func (m *Mutex) byNode(ctx context.Context, err error) (taken []int, nodes error) {
	failed, _ := errors.AsType[*redlock.QuorumError](err)
	if failed == nil || failed.Nodes == nil {
		return nil, nil
	}
	number := make(map[string]int)
	for i, master := range m.client.Masters(ctx) {
		number[master.Master] = i
	}
	for _, e := range failed.Nodes.Errors {
		node, _ := errors.AsType[*redlock.NodeError](e)
		switch {
		case node == nil || errors.Is(node, redlock.ErrNotAwaited):
		case isHeld(node):
			taken = append(taken, number[node.Master])
			nodes = errors.Join(nodes, &ErrNodeTaken{Node: number[node.Master]})
		default:
			nodes = errors.Join(nodes, &RedisError{Node: number[node.Master], Err: node.Err})
		}
	}
	return taken, nodes
}

func isHeld(err error) bool {
	_, held := errors.AsType[*redlock.HeldError](err)
	return held
}
