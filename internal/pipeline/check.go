package pipeline

import "sync/atomic"

// A Check is a question that the last calls of a flush share: one script at
// the flush's end for all calls that have it as Command.Check. They are completed
// when its answer has come, with that answer. It is not changed once it is in use.
type Check struct {
	bySHA  []byte // EVALSHA
	byText []byte // EVAL, for a master that does not know the script
}

// NewCheck is the check by a script of this text, with the arguments of EVALSHA.
func NewCheck(source string, args ...any) *Check {
	c := &Check{bySHA: AppendCommand(nil, "EVALSHA", args...)}
	c.byText = EvalOf(c.bySHA, source)
	return c
}

// Checked is what a check said. It is not changed.
type Checked struct {
	Mark string // as Mark makes it; "": something else
	Err  error  // an error reply
}

// Mark is the answer of a check that two values or more were asked for, as
// Checked has it.
func Mark(values ...string) string {
	parts := make([]any, len(values))
	for i, v := range values {
		parts[i] = []byte(v)
	}
	return markOf(parts)
}

// markOf is the reply of a check in the form in which Redis sends it, so that
// the usual answer, the same as last time, is compared and not parsed. "" if it
// is not an array of strings and nils.
func markOf(reply any) string {
	parts, ok := reply.([]any)
	if !ok {
		return ""
	}
	raw := appendHeader(nil, '*', len(parts))
	for _, part := range parts {
		switch v := part.(type) {
		case nil:
			raw = append(raw, "$-1\r\n"...)
		case []byte:
			raw = append(append(appendHeader(raw, '$', len(v)), v...), crlf...)
		default:
			return ""
		}
	}
	return string(raw)
}

// addCheck puts the check behind a batch in which somebody asks for it.
func (s *session) addCheck(batch []*Call) []*Call {
	for _, c := range batch {
		if c.Check != nil {
			s.checking.Encoded = c.Check.bySHA
			if s.checkByText.Load() {
				s.checking.Encoded = c.Check.byText
			}
			s.p.accepted.Add(1) // it completes like any other
			return append(batch, &s.check)
		}
	}
	return batch
}

// checked takes the reply of a check, and completes the calls that wait for it.
func (s *session) checked() error {
	same, err := s.wire.same(s.said.Mark)
	if err == nil && !same {
		var reply any
		if reply, err = s.rc.Receive(); IsNoScript(err) && s.askByText() {
			s.count()
			return nil
		}
		if err == nil || isReply(err) {
			s.said = &Checked{Mark: markOf(reply), Err: err}
			if err != nil {
				s.said.Mark, err = "", nil
				s.p.failures.Add(1)
			}
		}
	}
	if err != nil {
		return err
	}
	s.count()
	s.checkByText.Store(false)
	for i, c := range s.held {
		s.held[i] = nil
		c.Checked = s.said
		s.answered(c, c.Reply, c.Err)
	}
	s.held = s.held[:0]
	return nil
}

// askByText has the calls that wait for a check wait for the next one, which
// names its script by its text: the master has forgotten it (SCRIPT FLUSH). What
// is asked later covers them as well. Those that have failed need no check. It
// reports false where another check cannot be had.
func (s *session) askByText() bool {
	waiting, answered := s.held[:0], false
	for _, c := range s.held {
		if _, ok := c.Owner.(*recheck); ok {
			answered = true // by text, and all the same it says so: no Redis does
		}
		if c.Err != nil {
			s.answered(c, c.Reply, c.Err)
		} else {
			waiting = append(waiting, c)
		}
	}
	clear(s.held[len(waiting):])
	s.held = waiting
	if answered {
		return false
	}
	if s.checkByText.Swap(true) || len(waiting) == 0 {
		return true // asked for already: this answers a flush that was written before
	}
	again := &recheck{}
	s.p.Resend(&Call{Command: &Command{
		Cmd: "PING", Encoded: AppendCommand(nil, "PING"), Owner: again, Check: waiting[0].Check,
	}})
	return !again.failed.Load()
}

// A recheck owns a call that is sent for the check behind it.
type recheck struct{ failed atomic.Bool }

// Abandoned implements Owner.
func (*recheck) Abandoned(*Call) bool { return false }

// Delayed implements Owner. It is not called: the call is not kept.
func (*recheck) Delayed(*Call, error) {}

// Complete implements Owner.
func (r *recheck) Complete(c *Call) { r.failed.Store(c.Err != nil) }
