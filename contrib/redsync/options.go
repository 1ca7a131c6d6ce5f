package redsync

import "time"

// An Option configures a mutex.
type Option interface {
	Apply(*Mutex)
}

// OptionFunc is a function that configures a mutex.
type OptionFunc func(*Mutex)

// Apply calls f(mutex).
func (f OptionFunc) Apply(mutex *Mutex) {
	f(mutex)
}

// WithExpiry sets the expiry of a mutex. The default is 8s. Lock refuses an expiry below
// 20 ms, or above the client's redlock.WithMaxTTL. That is a minute by default, and for
// clients that this package opens. For more, use [PoolOf] with a client of a larger MaxTTL.
// The expiry is cut to whole milliseconds, as in redsync.
func WithExpiry(expiry time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.expiry = expiry })
}

// WithTries sets how often an acquisition is attempted: 32 times by default, at most a
// million times.
func WithTries(tries int) Option {
	return OptionFunc(func(m *Mutex) { m.tries = tries })
}

// WithRetryDelay sets the time between tries. The default is random in 50 to
// 250 ms.
func WithRetryDelay(delay time.Duration) Option {
	return WithRetryDelayFunc(func(int) time.Duration { return delay })
}

// WithRetryDelayFunc sets a function that returns the time between tries. Its argument is
// how many tries have failed.
func WithRetryDelayFunc(delayFunc DelayFunc) Option {
	return OptionFunc(func(m *Mutex) { m.delayFunc = delayFunc })
}

// WithDriftFactor sets the part of the expiry by which clocks may drift: 0.01 by
// default. A larger factor shortens the validity that Until returns. A smaller one does
// nothing: the client allows for its redlock.WithDrift, 1 % and 2 ms by default.
func WithDriftFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) { m.driftFactor = factor })
}

// WithSetNXOnExtend is refused: Lock, Extend and Valid return ErrUnsafeOption.
// In redsync it sets the key again if the key is gone, and so takes a lock that was lost.
// Another client may have held the lock in between, and changed what it protects.
func WithSetNXOnExtend() Option {
	return OptionFunc(func(m *Mutex) { m.setNXOnExtend = true })
}

// WithGenValueFunc sets a function for values. Keys still get the client's own tokens, which
// differ each time; Value returns them. A value of up to 64 bytes of printable ASCII without
// spaces and colons becomes the owner's name in the token. Any other value is left out; the
// first one of a Redsync causes a warning to slog.Default that names the mutex. A function
// that repeats a value is safe here.
func WithGenValueFunc(genValueFunc func() (string, error)) Option {
	return OptionFunc(func(m *Mutex) { m.genValueFunc = genValueFunc })
}

// WithValue sets the value of a lock that was acquired elsewhere, as Mutex.Value of this
// package or of redsync returned it. Unlock and Extend first adopt that lock (see
// redlock.Client.Adopt). This gives it a full expiry and a new value, which Value returns.
// The old value then no longer works, so only one mutex can adopt the lock. A failed adoption
// may also use up the old value. Valid changes nothing.
func WithValue(v string) Option {
	return OptionFunc(func(m *Mutex) { m.setValue(v) })
}

// WithFailFast does nothing: every call returns with the answer that decides it, and never
// waits for more masters.
func WithFailFast(bool) Option {
	return OptionFunc(func(*Mutex) {})
}

// WithShufflePools does nothing: all masters are asked at once.
func WithShufflePools(bool) Option {
	return OptionFunc(func(*Mutex) {})
}

// WithTimeoutFactor does nothing: the client's pool.WithCommandTimeout says how long a call
// waits for a master. By default that is a twentieth of the expiry, but at least 50 ms and
// at most 2 s: 400 ms for the default expiry, as with redsync.
func WithTimeoutFactor(float64) Option {
	return OptionFunc(func(*Mutex) {})
}
