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

// WithExpiry sets the expiry of a mutex. The default is 8s. Lock refuses what the
// client does not permit: below 20 ms, or above its redlock.WithMaxTTL, which is a
// minute by default, and where New opens the client. [PoolOf] of a client with another
// MaxTTL takes more. What is left beyond whole milliseconds is cut off, as in redsync.
func WithExpiry(expiry time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.expiry = expiry })
}

// WithTries sets how often an acquisition is attempted: 32 times by default, a
// million times at the most.
func WithTries(tries int) Option {
	return OptionFunc(func(m *Mutex) { m.tries = tries })
}

// WithRetryDelay sets the time between tries. The default is random in 50 to
// 250 ms.
func WithRetryDelay(delay time.Duration) Option {
	return WithRetryDelayFunc(func(int) time.Duration { return delay })
}

// WithRetryDelayFunc sets the time between tries by a function of how many have
// failed.
func WithRetryDelayFunc(delayFunc DelayFunc) Option {
	return OptionFunc(func(m *Mutex) { m.delayFunc = delayFunc })
}

// WithDriftFactor sets the part of the expiry by which clocks may drift: 0.01 by
// default. More shortens the validity that Until tells. Less does nothing: the
// client allows for what its redlock.WithDrift says, 1 % and 2 ms by default.
func WithDriftFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) { m.driftFactor = factor })
}

// WithSetNXOnExtend is refused: Lock, Extend and Valid return ErrUnsafeOption.
// It sets a key that is gone again, and so takes a lock that was lost: another
// may have held it meanwhile, and what it protected has changed hands.
func WithSetNXOnExtend() Option {
	return OptionFunc(func(m *Mutex) { m.setNXOnExtend = true })
}

// WithGenValueFunc takes a function for values. The keys have the client's own tokens,
// which differ each time, as Value tells; a value that is printable ASCII without spaces
// and colons, up to 64 bytes, stands in the token as the owner's name. Any other is left
// out, and the first of a Redsync is said in a warning to slog.Default, with the mutex. A
// function that repeats a value is no danger here.
func WithGenValueFunc(genValueFunc func() (string, error)) Option {
	return OptionFunc(func(m *Mutex) { m.genValueFunc = genValueFunc })
}

// WithValue names the value of a lock that was acquired elsewhere, by Mutex.Value
// of this package or of redsync. Unlock and Extend then adopt that lock first
// (see redlock.Client.Adopt), which gives it a full expiry and a new value, as Value
// tells: the one before opens nothing any more, so that one alone can adopt it, and may
// be used up by an attempt that fails. Valid only looks.
func WithValue(v string) Option {
	return OptionFunc(func(m *Mutex) { m.setValue(v) })
}

// WithFailFast does nothing: every call returns with the answer that decides it,
// and waits for no further master.
func WithFailFast(bool) Option {
	return OptionFunc(func(*Mutex) {})
}

// WithShufflePools does nothing: all masters are asked at once.
func WithShufflePools(bool) Option {
	return OptionFunc(func(*Mutex) {})
}

// WithTimeoutFactor does nothing: a master is waited for as long as the client's
// pool.WithCommandTimeout says. By default that is a twentieth of the expiry, but 50 ms
// at least and 2 s at the most: 400 ms for the default expiry, as with redsync.
func WithTimeoutFactor(float64) Option {
	return OptionFunc(func(*Mutex) {})
}
