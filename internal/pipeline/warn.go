package pipeline

import "time"

// warnEvery is the shortest time between two log lines of one warning about a master.
const warnEvery = 10 * time.Second

// A warning has the history of one kind of warning about a master.
type warning struct {
	logged time.Time
	since  int // how often it occurred since then
}

// warnings are the warnings about a master, by their text.
type warnings map[string]warning

// warn logs that something happened to the master. If it happens again and again, warn logs one
// line each warnEvery, with a count of all since the line before.
func (all warnings) warn(cfg *Config, what string, err error) {
	w := all[what]
	w.since++
	if time.Since(w.logged) >= warnEvery {
		attrs := []any{"master", cfg.Name, "error", err}
		if w.since > 1 {
			attrs = append(attrs, "times", w.since, "since", w.logged)
		}
		cfg.Deliverer.Warn(what, attrs...)
		w = warning{logged: time.Now()}
	}
	all[what] = w
}
