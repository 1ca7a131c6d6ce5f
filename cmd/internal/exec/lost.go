package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/job"
	"github.com/redquorum/redquorum/redlock"
)

// A lostError says how the lock was lost, and what happened to the command.
type lostError struct {
	key      string
	lost     *redlock.LostError // nil: not known
	operator string             // the operator that took it; "": none is known
	printed  bool               // the reason was printed before
	result   job.Result
	grace    time.Duration
}

func (e *lostError) Error() string {
	why := ": " + e.why()
	if e.printed {
		why = ""
	}
	return fmt.Sprintf("lock %q LOST%s. %s. Another host may hold it now.", e.key, why, e.fate())
}

func (e *lostError) Unwrap() error {
	if e.lost == nil {
		return redlock.ErrLost
	}
	return e.lost
}

// why returns how the lock was lost, in few words where that is possible.
func (e *lostError) why() string {
	if e.operator != "" {
		return explain.ByOperator(e.operator)
	}
	if e.lost == nil {
		return "it could not be given back"
	}
	failed, ok := errors.AsType[*redlock.QuorumError](e.lost.Err)
	if ok && e.lost.Reason == redlock.ReasonTaken && failed.Nodes != nil {
		return explain.HeldBy(failed)
	}
	if ok {
		if said := explain.WhyNoQuorum(failed, 0); said != "" {
			return strings.TrimSuffix(said, ".")
		}
	}
	text := strings.TrimPrefix(e.lost.Error(), "redlock: ")
	return strings.TrimPrefix(text, fmt.Sprintf("lock %q lost: ", e.lost.Key))
}

// fate returns what happened to the command.
func (e *lostError) fate() string {
	switch r := e.result; {
	case r.GoesOn != "":
		return r.GoesOn + " runs as another user and was not stopped"
	case r.Stuck:
		return "The command does not end, not even by SIGKILL"
	case r.Killed && e.grace > 0 && runtime.GOOS != "windows":
		return fmt.Sprintf("The command was stopped (SIGKILL, %v after SIGTERM)", e.grace)
	case r.Killed && runtime.GOOS != "windows":
		return "The command was stopped (SIGKILL)"
	case r.Killed:
		return "The command was stopped"
	case r.Lost && r.Signal == syscall.SIGTERM:
		return "The command was stopped (SIGTERM)"
	case r.Lost:
		return fmt.Sprintf("The command was sent SIGTERM and ended with exit code %d", r.Code)
	default:
		return fmt.Sprintf("The command ended by itself, with exit code %d, but too late", r.Code)
	}
}

// watchLoss reports the loss of the lock at once, while the command is still being ended. It
// asks at once which operator took the lock, because that operator's token expires. lost is
// closed when the report is in the queue of lines, so that reports on the command's end follow
// it. The lock's context has to end before result is called.
func (e *execution) watchLoss(
	lock *redlock.Lock,
) (lost <-chan struct{}, result func() (operator string, printed bool)) {
	type loss struct {
		operator string
		printed  bool
	}
	stop, found := make(chan struct{}), make(chan loss, 1)
	go func() { // ends with the lock's context
		<-lock.Context().Done()
		cause, ok := errors.AsType[*redlock.LostError](context.Cause(lock.Context()))
		l := loss{printed: ok && e.running.Load() && !e.json}
		e.lines.Always(func() { // asking takes time, and the command must end meanwhile
			if ok && cause.Reason == redlock.ReasonTaken {
				l.operator = e.operatorThere()
			}
			found <- l
			if l.printed {
				said := &lostError{key: e.key, lost: cause, operator: l.operator}
				e.app.Say(fmt.Sprintf("lock %q LOST: %s. The command is being stopped.", e.key, said.why()))
			}
		})
		close(stop)
	}()
	return stop, func() (string, bool) {
		l := <-found
		return l.operator, l.printed
	}
}

// operatorBound is how long the masters have to say who has taken the lock.
const operatorBound = time.Second

// operatorThere returns which operator has taken the lock; "": none, as far as the masters say.
func (e *execution) operatorThere() string {
	ctx, cancel := context.WithTimeout(context.Background(), operatorBound)
	defer cancel()
	in, err := e.client.Inspect(ctx, e.key)
	if err != nil {
		return ""
	}
	for i := range in.Holders {
		if operator, ok := explain.By(in.Holders[i].Token); ok {
			return operator
		}
	}
	return ""
}
