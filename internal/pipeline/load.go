package pipeline

// Scripts are loaded by need. A master keeps them for as long as its process runs,
// whoever sent them, so that nearly every connection finds them there: sending all of
// them first would make each wait for three round trips of TCP's slow start. A single
// call that is answered with NOSCRIPT is sent again by its owner, with the script; for a
// joint command the session loads it.

// mostLoads bounds how often a session loads scripts: a master that loses them again and
// again gets no joint commands.
const mostLoads = 16

// refused takes notice of a joint command that the master has refused. The next are not
// made before its script is there, or not at all. Only the reader calls it.
func (s *session) refused(j *Joint, refusal error) {
	if s.apart.Swap(true) || !IsNoScript(refusal) || j.Source == "" || s.loads == mostLoads {
		return
	}
	s.loads++
	s.p.Enqueue(&Call{Command: &Command{
		Cmd: "SCRIPT", Encoded: AppendCommand(nil, "SCRIPT", "LOAD", j.Source), Owner: (*loader)(s),
	}})
}

// A loader is the owner of the calls by which a session loads scripts.
type loader session

// Abandoned implements Owner.
func (*loader) Abandoned(*Call) bool { return false }

// Delayed implements Owner. It is not called: no such call is kept.
func (*loader) Delayed(*Call, error) {}

// Complete implements Owner: joint commands are made again, unless the master does not
// load scripts. A call that got no answer may be followed by another.
func (l *loader) Complete(c *Call) {
	if !IsReply(c.Err) {
		l.apart.Store(false)
	}
}
