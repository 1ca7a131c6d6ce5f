package stage

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/redlock"
)

// How a master is seen.
const (
	SeenUp       = "up"
	SeenGone     = "gone"     // there is no connection
	SeenSilent   = "silent"   // it does not answer
	SeenRefuses  = "refuses"  // it is up, and does not let us in
	SeenAbstains = "abstains" // its vote does not count
)

// A Sight is how a master is seen, and what is told of it.
type Sight struct {
	State string
	Cause redlock.AbstainCause // for which it abstains
	Left  time.Duration        // until it votes; 0: not known
	Text  string
	Open  bool // it will be known in a moment
}

// Brief is why its vote does not count, in so few words that a column has room.
func (s *Sight) Brief() string {
	switch {
	case s.State == SeenGone:
		return "no connection"
	case s.State == SeenSilent:
		return "no answer"
	case s.State == SeenRefuses:
		return "refuses us"
	case s.State == SeenAbstains && s.Left > 0:
		return fmt.Sprintf("waits %.1f s", s.Left.Seconds())
	case s.State == SeenAbstains:
		return s.Cause.String()
	default:
		return ""
	}
}

// See is how a master is seen by its report and its latest answer.
func See(m *redlock.MasterReport, answer error) Sight {
	switch {
	case !m.Connected:
		return unconnected(&pipeline.DownError{Cause: m.Err})
	case answer != nil && say.Of(answer).Silent:
		return Sight{State: SeenSilent, Text: say.Short(answer)}
	case m.Why != nil:
		return Sight{
			State: SeenAbstains, Cause: m.Why.Cause, Left: m.Why.Left, Text: say.Short(m.Why),
			Open: m.Why.Cause == redlock.AbstainNotConnected || m.Why.Cause == redlock.AbstainUnmarked && m.Why.Err == nil,
		}
	case answer != nil:
		return Sight{State: SeenRefuses, Text: say.Short(answer)}
	default:
		return Sight{State: SeenUp, Text: "votes again"}
	}
}

// unconnected is how a master is seen that there is no connection to.
func unconnected(why error) Sight {
	s := Sight{State: SeenRefuses, Text: say.Short(why), Open: errors.Is(why, pipeline.ErrConnecting)}
	if a := say.Of(why); a.Down || s.Open {
		s.State = SeenGone
	} else if a.Silent {
		s.State = SeenSilent
	}
	return s
}
