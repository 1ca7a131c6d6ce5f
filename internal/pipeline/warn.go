package pipeline

import "time"

// warnEvery is how often the same warning about a master is logged at most.
const warnEvery = 10 * time.Second

// A warning is what became of one kind of warning about a master.
type warning struct {
	logged time.Time
	since  int // how often it came since then
}

// warn logs that something happened to the master. Of what happens again and again it logs
// one line each warnEvery, with a count of all since the line before. Only the supervisor
// calls it.
func (p *Pipeline) warn(what string, err error) {
	w := p.warnings[what]
	w.since++
	if time.Since(w.logged) >= warnEvery {
		attrs := []any{"master", p.cfg.Name, "error", err}
		if w.since > 1 {
			attrs = append(attrs, "times", w.since, "since", w.logged)
		}
		p.cfg.Deliverer.Warn(what, attrs...)
		w = warning{logged: time.Now()}
	}
	p.warnings[what] = w
}
