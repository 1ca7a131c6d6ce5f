package redlock

import "github.com/redquorum/redquorum/internal/token"

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
		w.mark = token.New(w.lock.c.opts.chance, w.lock.c.tokenPrefix(w.lock.opts.owner))
	}
	w.lock.c.wire.NoteIntent(w.lock.claim.Key(), w.mark)
}

// withdraw takes it back.
func (w *intent) withdraw() {
	if w.mark != nil {
		w.lock.c.wire.WithdrawIntent(w.lock.claim.Key(), w.mark)
	}
}
