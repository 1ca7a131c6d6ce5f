package redsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// A nodesError says what each master said, in redsync's terms, as redsync's joined errors
// do. It matches the error of redlock too.
type nodesError struct {
	nodes   []error
	redlock error
}

func (e *nodesError) Error() string   { return e.redlock.Error() }
func (e *nodesError) Unwrap() []error { return append(slices.Clip(e.nodes), e.redlock) }

// What redsync returns bare is returned bare: programs compare it with ==, and its type
// in a switch. Where redsync joins the errors of several masters, the result matches the
// error of redlock as well.

func (m *Mutex) lockError(ctx context.Context, err error) error {
	taken, nodes := m.byNode(ctx, err)
	failed, _ := errors.AsType[*redlock.QuorumError](err)
	switch {
	case ctx.Err() != nil:
		return ErrFailed
	case errors.Is(err, redlock.ErrTaken) && (len(taken) == len(nodes) || len(taken) >= failed.Need):
		return &ErrTaken{Nodes: taken}
	case nodes != nil:
		return &nodesError{nodes, err}
	case errors.Is(err, redlock.ErrNoQuorum):
		return ErrFailed
	}
	return err // a bad argument, or a closed client
}

func (m *Mutex) unlockError(ctx context.Context, err error) error {
	lost, _ := errors.AsType[*redlock.LostError](err)
	switch {
	case lost != nil && lost.Reason == redlock.ReasonTaken:
		return m.taken(ctx, err)
	case errors.Is(err, redlock.ErrNotHeld):
		return &nodesError{[]error{ErrLockAlreadyExpired}, err}
	}
	return m.unanswered(ctx, err)
}

// notHeldError is of Extend and Valid: redsync calls a lock taken that is not there.
func (m *Mutex) notHeldError(ctx context.Context, err error) error {
	if errors.Is(err, redlock.ErrNotHeld) {
		return m.taken(ctx, err)
	}
	return m.unanswered(ctx, err)
}

func (m *Mutex) taken(ctx context.Context, err error) *ErrTaken {
	nodes, _ := m.byNode(ctx, err)
	return &ErrTaken{Nodes: nodes}
}

// unanswered is for a question to which too few masters gave an answer.
func (m *Mutex) unanswered(ctx context.Context, err error) error {
	if _, nodes := m.byNode(ctx, err); nodes != nil {
		return &nodesError{nodes, err}
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
	return &nodesError{nodes, fmt.Errorf("redsync: %v: %w", found, redlock.ErrNoQuorum)}
}

// byNode tells what each master said in redsync's terms: which have the lock for
// another, and the errors of all.
func (m *Mutex) byNode(ctx context.Context, err error) (taken []int, nodes []error) {
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
			nodes = append(nodes, &ErrNodeTaken{Node: number[node.Master]})
		default:
			nodes = append(nodes, &RedisError{Node: number[node.Master], Err: node.Err})
		}
	}
	return taken, nodes
}

func isHeld(err error) bool {
	_, held := errors.AsType[*redlock.HeldError](err)
	return held
}
