package voters

import "github.com/redquorum/redquorum/internal/guard"

// report logs, once, that a master has lost or regained its vote. It leaves out what
// passes within moments and what the pool logs. The caller must hold g.mu.
func (g *Monitor) report(i int) {
	w := &g.masters[i]
	s, log := w.standing, g.cfg.Deliverer
	if s.Vote {
		if w.warned == "" {
			return
		}
		passing := w.warned == guard.NotConnected
		w.warned = ""
		switch {
		case s.Unguarded != nil:
			log.Warn("master votes unguarded", "master", s.Master, "standing", s.String())
		case !passing:
			log.Info("master votes again", "master", s.Master)
		}
		return
	}
	switch cause := s.Why.Cause; cause {
	case w.warned:
	case guard.NotConnected, guard.Unmarked, guard.NoMarker:
		if w.warned == "" {
			w.warned = guard.NotConnected // so that an unguarded vote is logged later
		}
	default:
		w.warned = cause
		log.Warn("master may not vote", "master", s.Master, "cause", cause, "error", s.Why)
	}
}
