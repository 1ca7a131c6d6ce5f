package pipeline

// A Check is a question that the calls of a flush share: two commands at the end of the flush,
// for all calls that have it as Command.Check. These calls complete when its replies have
// come, with the result of the check. It does not change once it is in use.
type Check struct {
	commands [checkSize][]byte
	read     ReadCheck
	same     SameText
}

// ReadCheck makes a result of the replies to a check's commands, in their order. The replies
// are as redigo parses them, error replies too. The result is as in Checked. ReadCheck must
// not keep the replies.
type ReadCheck func(replies [checkSize]any) (mark string, err error)

// SameText reports whether two bulk strings, as replies to the same command, mean the same to
// ReadCheck. It must not keep them.
type SameText func(before, now []byte) bool

const checkSize = 2

// NewCheck returns a check that sends these commands, each with its arguments.
func NewCheck(commands [checkSize][]any, read ReadCheck, same SameText) *Check {
	c := &Check{read: read, same: same}
	for i, words := range commands {
		name, _ := words[0].(string)
		c.commands[i] = AppendCommand(nil, name, words[1:]...)
	}
	return c
}

// Checked is the result of a check. It does not change.
type Checked struct {
	Mark string // equal for equal facts; "": no vote can count
	Err  error  // an error reply
}

// A checking is the state of a session's checks. Usually a reply is the same as the last time.
// Then it is compared and not parsed.
type checking struct {
	// These calls represent every check in inflight. The commands belong to the writer; reader and
	// writer may compare the addresses.
	calls    [checkSize]Call
	commands [checkSize]Command

	// Only the reader uses these.
	raw     [checkSize]string // the last replies as Redis sends them; "": one that is parsed each time
	replies [checkSize]any    // the same, parsed
	changed bool              // said was not made from these replies
	held    []*Call           // answered, waiting for the check of their flush
	said    *Checked
}

func (k *checking) init() {
	for i := range k.calls {
		k.calls[i].Command = &k.commands[i]
	}
	k.said = &Checked{}
}

// index returns the number of the check's command that c is; -1: none.
func (k *checking) index(c *Call) int {
	for i := range k.calls {
		if c == &k.calls[i] {
			return i
		}
	}
	return -1
}

// addCheck puts the check behind the calls of a flush if one of its calls asks for it.
func (s *session) addCheck(flush []*Call) []*Call {
	for _, c := range flush {
		if c.Check == nil {
			continue
		}
		for i := range s.checking.calls {
			s.checking.commands[i].Encoded = c.Check.commands[i]
			flush = append(flush, &s.checking.calls[i])
		}
		s.p.accepted.Add(checkSize) // they complete like any other
		return flush
	}
	return flush
}

// checked takes the reply to one of a check's commands. After the last reply it completes the
// calls that wait for the check.
func (s *session) checked(i int) error {
	k := &s.checking
	same, err := s.wire.same(k.raw[i])
	if err == nil && !same && len(k.held) > 0 {
		before, _ := k.replies[i].([]byte)
		same = before != nil && s.wire.sameText(before, k.held[0].Check.same)
	}
	if err == nil && !same {
		var reply any
		reply, err = s.rc.Receive()
		if isReply(err) {
			reply, err = excerpt(err), nil
			s.p.failures.Add(1)
		}
		k.raw[i], k.replies[i], k.changed = rawOf(reply), reply, true
	}
	if err != nil {
		return err
	}
	s.count()
	if i < checkSize-1 {
		return nil
	}
	if k.changed && len(k.held) > 0 {
		k.said, k.changed = &Checked{}, false
		k.said.Mark, k.said.Err = k.held[0].Check.read(k.replies)
	}
	for i, c := range k.held {
		k.held[i] = nil
		c.Checked = k.said
		s.answered(c, c.Reply, c.Err)
	}
	k.held = k.held[:0]
	return nil
}

// rawOf returns a reply as Redis sends it, if it is a string or an array of strings and nils;
// otherwise "".
func rawOf(reply any) string {
	parts, ok := reply.([]any)
	var raw []byte
	if ok {
		raw = appendHeader(nil, '*', len(parts))
	} else {
		parts = []any{reply}
	}
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
