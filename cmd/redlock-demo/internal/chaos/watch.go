package chaos

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/trouble"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/redlock"
)

// How a master that others run is seen.
const (
	seenUp       = "up"
	seenGone     = "gone"     // there is no connection
	seenSilent   = "silent"   // it does not answer
	seenRefuses  = "refuses"  // it is up, and does not let us in
	seenAbstains = "abstains" // its vote does not count
)

// A sight is how a master is seen, and what is told of it.
type sight struct {
	state string
	cause redlock.AbstainCause // for which it abstains
	text  string
	open  bool // it will be known in a moment
}

// seen is how a master is seen by its report and its latest answer.
func seen(m *redlock.MasterReport, answer error) sight {
	switch {
	case !m.Connected:
		return unconnected(&pipeline.DownError{Cause: m.Err})
	case trouble.IsSilence(answer):
		return sight{state: seenSilent, text: trouble.Short(answer)}
	case m.Why != nil:
		return sight{
			state: seenAbstains, cause: m.Why.Cause, text: trouble.Short(m.Why),
			open: m.Why.Cause == redlock.AbstainNotConnected || m.Why.Cause == redlock.AbstainUnmarked && m.Why.Err == nil,
		}
	case answer != nil:
		return sight{state: seenRefuses, text: trouble.Short(answer)}
	default:
		return sight{state: seenUp, text: "votes again"}
	}
}

// unconnected is how a master is seen that there is no connection to.
func unconnected(why error) sight {
	s := sight{state: seenRefuses, text: trouble.Short(why), open: errors.Is(why, pipeline.ErrConnecting)}
	if _, down := trouble.Down(why); down || s.open {
		s.state = seenGone
	} else if trouble.IsSilence(why) {
		s.state = seenSilent
	}
	return s
}

// watch says in the rows how the masters are seen, and tells of what has changed.
func (o *observer) watch(ctx context.Context, reports []redlock.MasterReport, in *redlock.Inspection, rows []MasterRow) {
	if o.sights == nil {
		o.sights = make([]sight, len(rows))
		for i := range o.sights {
			o.sights[i].state = seenUp // all others are told of
		}
	}
	for i := range rows {
		now, before := seen(&reports[i], in.Masters[i].Err), &o.sights[i]
		rows[i].State = now.state
		if now.open || ctx.Err() != nil || now.state == before.state && now.cause == before.cause {
			continue
		}
		*before = now
		o.tell(EventMaster, "master %d %s: %s", i+1, reports[i].Master, now.text)
	}
}
