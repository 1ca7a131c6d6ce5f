package guard

import "strconv"

// An Early is what a client's first acquisition needs to go out before the masters are
// judged. Each master compares its marker with these settings and acquires in one step.
// So nothing is set on a master of a fleet with other settings, or of one that is being
// moved. The judgement that follows decides whether the answer counts.
type Early struct{ settings [5]any }

// Early returns the Early for masters whose locks are in this database. The level must be
// Standard: strict compares clocks first.
func (c Config) Early(db int) *Early {
	return &Early{[...]any{Version, millis(c.MaxTTL), strconv.Itoa(c.Masters), c.Level.String(), strconv.Itoa(db)}}
}

// Args are the arguments of EVAL for Acquire. ttl is in milliseconds.
func (e *Early) Args(key string, token any, ttl int64) []any {
	return Acquire.EvalArgs(Acquire.Args(nil, []string{key, Key}, append([]any{token, ttl}, e.settings[:]...)...))
}
