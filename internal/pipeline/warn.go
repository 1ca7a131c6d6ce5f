package pipeline

import "time"

// warnEvery is how often the same warning about a master is logged at most.
const warnEvery = 10 * time.Second

// A warning is what became of one kind of warning about a master.
type warning struct {
	logged time.Time
	since  int // how often it came since then
}

// warnings are those about a master, by their text.
type warnings map[string]warning

// warn logs that something happened to the master. Of what happens again and again it logs
// one line each warnEvery, with a count of all since the line before.
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
