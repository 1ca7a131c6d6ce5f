package redlock

// WithStrict asks for what GuardStrict adds to each grant, without the guard's
// judgement of masters.
func WithStrict() Option {
	return clientOption(func(o *clientOptions) error {
		o.strictGrants = true
		return nil
	})
}
