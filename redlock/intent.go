package redlock

// An intent tells the masters that a writer waits, so that they let no new
// reader in. It is noted after every attempt that failed, and expires soon by
// itself; it is advice, and plays no part in who holds the lock. It belongs to
// the goroutine of the call that waits.
type intent struct {
	c     *Client
	key   string // with the prefix
	owner string
	mark  any // the waiting call's, since attempts have tokens of their own; nil: not noted yet
}

// note queues the intent, or its prolongation, for every master. Nobody waits
// for that. A nil intent is none.
func (i *intent) note() {
	if i == nil {
		return
	}
	if i.mark == nil {
		i.mark = i.c.holds.NewToken(i.owner)
	}
	i.c.wire.NoteIntent(i.key, i.mark)
}

// withdraw takes it back. Where the writer has given up, readers that it kept out are
// called: nobody releases anything that would wake them.
func (i *intent) withdraw(gaveUp bool) {
	if i.mark == nil {
		return
	}
	i.c.wire.WithdrawIntent(i.key, i.mark)
	if gaveUp {
		i.c.wire.AdmitReaders(i.key, false)
	}
}
