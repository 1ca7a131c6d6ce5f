package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/job"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A lostError says how the lock was lost, and what became of the command.
type lostError struct {
	key      string
	fleet    string             // "": there is one
	lost     *redlock.LostError // nil: not known
	operator string             // who has taken it; "": none is known to have
	told     bool               // how it was lost
	result   job.Result
	grace    time.Duration
	pause    pause // while the lock was held
	ttl      time.Duration
}

func (e *lostError) Error() string {
	why := ": " + e.why()
	if e.told {
		why = ""
	}
	return fmt.Sprintf("lock %q LOST%s%s. %s. Another host may hold it now.", e.key, say.InFleet(e.fleet), why, e.fate())
}

func (e *lostError) Unwrap() error {
	if e.lost == nil {
		return redlock.ErrLost
	}
	return e.lost
}

// why is how it was lost, in few words where that is possible.
func (e *lostError) why() string {
	if e.operator != "" {
		return say.ByOperator(e.operator)
	}
	if e.lost == nil {
		return "it could not be given back"
	}
	if cost := e.pause.cost(e.ttl); cost != "" {
		return cost
	}
	failed, ok := errors.AsType[*redlock.QuorumError](e.lost.Err)
	if ok && e.lost.Reason == redlock.ReasonTaken && failed.Nodes != nil {
		return say.HeldBy(failed)
	}
	if ok {
		if said := say.Complaints(failed); said != "" {
			return said
		}
	}
	text := strings.TrimPrefix(e.lost.Error(), "redlock: ")
	return strings.TrimPrefix(text, fmt.Sprintf("lock %q lost: ", e.lost.Key))
}

// fate is what became of the command.
func (e *lostError) fate() string {
	switch r := e.result; {
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

// pauseEvery is how often a pauseWatch looks at the clock.
const pauseEvery = 100 * time.Millisecond

// A pause is for how long this process did not run.
type pause struct {
	stopped time.Duration // for certain: it was stopped, or had no processor
	most    time.Duration // with the time that the machine slept, or its clock was set forward
}

// A pauseWatch notices pauses.
type pauseWatch struct {
	clock drift.Clock

	mu      sync.Mutex // guards what follows
	last    drift.Instant
	longest pause // since forget
}

func newPauseWatch(clock drift.Clock) *pauseWatch {
	return &pauseWatch{clock: clock, last: clock.Now()}
}

// start looks at the clock until the function that it returns is called, which waits
// for its goroutine.
func (w *pauseWatch) start() (stop func()) { return app.Repeat(pauseEvery, func() { w.look() }) }

// look gives the longest pause since forget was called, one that has just ended
// included.
func (w *pauseWatch) look() pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	w.longest.stopped = max(w.longest.stopped, now.MonotonicSub(w.last))
	w.longest.most = max(w.longest.most, now.Sub(w.last))
	w.last = now
	return w.longest
}

// forget is called when pauses up to now have done no harm.
func (w *pauseWatch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest, w.last = pause{}, w.clock.Now()
}

// cost is how a pause cost a lock of this TTL; "": it did not.
func (p pause) cost(ttl time.Duration) string {
	what, lasted := "suspended for "+term.About(p.stopped), p.stopped
	if p.stopped < ttl/2 { // a lock is renewed every third of it
		what, lasted = "the machine was suspended, or its clock set forward, by "+term.About(p.most), p.most
	}
	switch {
	case lasted >= ttl:
		return fmt.Sprintf("%s, longer than the TTL of %s", what, term.About(ttl))
	case lasted >= ttl/2:
		return fmt.Sprintf("%s, too long for the TTL of %s", what, term.About(ttl))
	default:
		return ""
	}
}

// watchLoss says that the lock is lost as soon as it is, while the command is still being ended. It asks at once which
// operator has taken the lock: later the token that says so may have expired. The lock's context has to end before the
// result is asked for.
func (e *execution) watchLoss(lock fleets.Hold) (result func() (operator string, told bool)) {
	type loss struct {
		operator string
		told     bool
	}
	found := make(chan loss, 1)
	go func() { // ends with the lock's context
		<-lock.Context().Done()
		l := loss{told: e.running.Load() && !e.json}
		lost, ok := errors.AsType[*redlock.LostError](context.Cause(lock.Context()))
		if ok && lost.Reason == redlock.ReasonTaken {
			l.operator = e.place.operator(e.key)
		}
		if l.told = l.told && ok; l.told {
			said := &lostError{key: e.key, fleet: e.place.of(context.Cause(lock.Context())), lost: lost, operator: l.operator, pause: e.pauses.look(), ttl: e.ttl}
			e.say("lock %q LOST%s: %s. The command is being stopped.", e.key, say.InFleet(said.fleet), said.why())
		}
		found <- l
	}()
	return func() (string, bool) {
		l := <-found
		return l.operator, l.told
	}
}
