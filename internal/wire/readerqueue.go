package wire

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// Readers that wait at a key's pilot, and how they and writers wake each other.
// docs/explanation/waiting.md says how this is used, script/phases.lua whose turn it is.

var (
	argAdmit any = "admit"
	// argCalled says that the pilot has called this reader.
	argCalled any = "1"
)

func readersQuery(key string) []string { return []string{key, queueKey(key), intentPrefix + key} }

// WaitToRead asks a pilot whether readers of this client may try for a key, and keeps the
// client's place among the readers that wait there.
func (w *Wire) WaitToRead(ctx context.Context, pilot int, key string, score any, limit time.Duration) (Turn, error) {
	q := w.query(pilot, time.Time{}, script.ReadersQueue, readersQuery(key), argWait, w.id, score)
	return readTurn(q.wait(ctx, limit))
}

// LeaveReaders takes this client out of the readers that wait at a pilot. If the key is
// free, the next waiter is called. Nobody waits for the answer.
func (w *Wire) LeaveReaders(pilot int, key string) {
	w.query(pilot, time.Now().Add(queueExpiry), script.ReadersQueue, readersQuery(key), argLeave, w.id)
}

// AdmitReaders asks the key's pilot to call the readers that wait, if no writer holds the lock
// or waits for it. Nobody waits for the answer.
func (w *Wire) AdmitReaders(key string) {
	master := w.cfg.Pilots.Of(key, 0)
	if master == quorum.NoPilot {
		return
	}
	w.query(master, time.Now().Add(intentTTL), script.ReadersQueue, readersQuery(key), argAdmit, w.id)
}

func (a *Ask) acquireReader(c *Claim, s *script.Script, called bool) {
	if called {
		a.eval(s, c.acquireKeys(), 0, time.Time{}, c.Token, c.milliseconds(), a.w.longest, argCalled)
		return
	}
	a.eval(s, c.acquireKeys(), 0, time.Time{}, c.Token, c.milliseconds(), a.w.longest)
}

// releaseReader releases a reader. At every master the release of the last reader calls the
// waiters there, because clients do not always agree on the pilot.
func (a *Ask) releaseReader(c *Claim, absent quorum.MasterSet, keep time.Time) {
	w := a.w
	if master := w.cfg.Pilots.Of(c.Key(), 0); master != quorum.NoPilot {
		absent.Remove(master) // it calls the waiters there even if there is nothing to release
	}
	a.handOver = c.Keys
	s, keys := script.ReaderHandOver, c.Keys
	if w.cfg.Strict {
		s, keys = script.GuardedReaderHandOver, appendNames(keys[:len(keys):len(keys)], leasePrefix, keys)
	}
	a.eval(s, keys, absent, keep, c.Token, w.longest, w.id)
}
