package hold

import "time"

// An intent tells the masters that a writer waits, so that they let no new reader in. It is
// noted after every failed attempt, and while the writer waits. It expires by itself after 2 s.
// It is advice, and does not decide who holds the lock. The zero intent keeps nobody out.
type intent struct {
	manager *Manager
	key     string // with the prefix
	owner   string
	mark    any // one for all attempts of the call; nil: it is not noted
	noted   time.Time
}

// begin makes a call keep readers out of the lock of h. Close waits for end, so that what end
// sends still goes out.
func (i *intent) begin(h *Hold) {
	i.manager, i.key, i.owner = h.manager, h.claim.Key(), h.opts.Owner
	i.manager.cfg.InFlight.Add()
	i.manager.cfg.Running.Add()
}

// note queues the intent, or its renewal, for every master. Nobody waits for the answers.
func (i *intent) note() {
	if i.manager == nil {
		return
	}
	if i.mark == nil {
		i.mark = i.manager.NewToken(i.owner)
	}
	i.noted = time.Now()
	i.manager.cfg.Wire.NoteIntent(i.key, i.mark)
}

// intentEvery is the least time between two notes of a writer that sleeps. Its pauses take half
// a second at the most, so it notes its intent about every second.
const intentEvery = 900 * time.Millisecond

// renew notes the intent again unless that was done lately.
func (i *intent) renew() {
	if time.Since(i.noted) >= intentEvery {
		i.note()
	}
}

// withdraw takes it back, and reports whether it was noted.
func (i *intent) withdraw() bool {
	if i.mark == nil {
		return false
	}
	i.manager.cfg.Wire.WithdrawIntent(i.key, i.mark)
	i.mark = nil
	return true
}

// end withdraws it at the end of the call. If it is still noted, the writer has given up. Then
// end wakes the readers that it kept out, because no release would wake them.
func (i *intent) end() {
	if i.manager == nil {
		return
	}
	if i.withdraw() {
		i.manager.cfg.Wire.AdmitReaders(i.key)
	}
	i.manager.cfg.Running.Done()
	i.manager.cfg.InFlight.Done()
}
