package redlock

// WithFairness asks for first come, first served among all calls, of all clients,
// that ask for it: none of them takes a lock for which another one waits longer. The
// promise holds while the key's pilot master serves (see
// docs/explanation/waiting.md). Without the pilot the lock still excludes, but
// anybody may be next. Calls without this option may overtake in the instant between
// release and hand-over.
//
// Every attempt then asks one master before the others, which takes one more round
// trip. TryLock, and calls with WithTries or WithBackoff, take the lock only where
// nobody waits.
func WithFairness() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.fair = true
		return nil
	})
}
