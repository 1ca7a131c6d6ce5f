package redlock

import (
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

const (
	// intentPrefix begins the keys under which waiting writers are noted: a
	// sorted set of marks on each master, for the lock's key that follows.
	intentPrefix = reservedPrefix + "intent:1:"
	// intentTTL is for how long a waiting writer that is heard of no more keeps
	// readers out: a few times as long as the default pause between attempts.
	intentTTL = 2 * time.Second
)

func intentKey(l *Lock) any { return intentPrefix + l.c.opts.prefix + l.key }

// An intent tells the masters that a writer waits, so that they let no new
// reader in. It is noted after every attempt that failed, and expires soon by
// itself; it is advice, and plays no part in who holds the lock. It belongs to
// the goroutine of the call that waits.
type intent struct {
	lock *Lock // what is waited for
	mark any   // the waiter's, since attempts have tokens of their own; nil: not noted yet
}

// note queues the intent, or its prolongation, for every master. Nobody waits
// for that. A nil intent is none.
func (w *intent) note() {
	if w == nil {
		return
	}
	if w.mark == nil {
		w.mark = newToken(w.lock.c.opts.chance, w.lock.c.tokenPrefix(w.lock.opts.owner))
	}
	r := w.round()
	defer r.LetGo()
	r.eval(script.WriterIntent, []any{intentKey(w.lock)}, 0, time.Time{}, w.mark, intentTTL.Milliseconds())
}

// round is one that is decided by nobody's refusal, as a release is: every master
// is told.
func (w *intent) round() *round { return w.lock.c.newRound(opRelease) }

// withdraw takes it back, on the same connections and so behind it, or on later
// ones while it may still stand.
func (w *intent) withdraw() {
	if w.mark == nil {
		return
	}
	r := w.round()
	defer r.LetGo()
	r.args = append(r.args[:0], intentKey(w.lock), w.mark)
	r.ask("ZREM", 0, time.Now().Add(intentTTL))
}
