package pipeline

// A check is a question that the last calls of a flush share: one command at
// the flush's end for all calls that have it as Call.Check. They are completed
// when its answer has come, with that answer.

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
			s.checking.Encoded = c.Check
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
		if reply, err = s.rc.Receive(); err == nil || isReply(err) {
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
	for i, c := range s.held {
		s.held[i] = nil
		c.Checked = s.said
		s.answered(c, c.Reply, c.Err)
	}
	s.held = s.held[:0]
	return nil
}
