package pipeline

import (
	"slices"
	"sync"

	"github.com/gomodule/redigo/redis"
)

// Calls of one flush that do the same for different keys can be joined into one command.
// A script for many keys costs a master little more than a script for one key. No call
// waits for others: only calls that are queued at the same time are joined, and a single
// call is sent as it is.

// A Joint describes calls that can be joined into one command. Two calls can be joined if
// both point to the same Joint.
//
// The command runs a script. Its keys are the first keys of all calls, then their second
// keys, then their third keys; calls with a second key come first. Its arguments are those
// of all calls, and then Last.
//
// The script replies with an array that has Ints numbers for each call; they become the
// call's reply. Where Ints is 3, the first of a call's numbers may be -1. Then the call's
// reply stands behind all numbers, in the order of such calls. If the script replies with
// an error, it has done nothing, and Call.Apart is set.
type Joint struct {
	SHA  string
	Args int    // arguments of each call
	Last []byte // one encoded argument for all calls together
	Ints int    // numbers in the reply to each call: 1, or 3 (a *ThreeInts)
}

// A Part says which pieces of a call's own command go into a joint command.
type Part struct {
	Joint *Joint
	Keys  [3]Span
	Args  Span
}

// A Span is a piece of Command.Encoded. The zero Span is empty.
type Span struct{ From, To int32 }

// SpanOf returns the piece between two lengths that the command had while it was
// encoded.
func SpanOf(from, to int) Span { return Span{int32(from), int32(to)} } //nolint:gosec // commands are shorter

func (s Span) empty() bool { return s.From == s.To }

func (c *Command) piece(s Span) []byte { return c.Encoded[s.From:s.To] }

// otherReply marks a call whose reply stands behind the numbers.
const otherReply = -1

// mostParts bounds the calls of a joint command, and so how long it keeps a master busy:
// about 50 us with releases, 300 us with acquisitions in strict.
const mostParts = 64

// A joint is one command for several calls.
type joint struct {
	Call
	command Command
	parts   []*Call
}

var joints = sync.Pool{New: func() any { return new(joint) }}

// A joiner makes joint commands from a writer's batches. Calls to be joined are sent
// after the other calls of the flush, but before the next call with the same key: commands
// for a key stay in order (invariant S5).
type joiner struct {
	groups []*group // in the order in which they are sent
	out    []*Call
}

// A group has calls of one Joint that are sent later in the flush.
type group struct {
	joint *Joint
	calls []*Call
	keys  [64]uint64 // a bit for each of their keys
}

// join makes joint commands from a batch. The result is valid until the next call. ok is
// false, and nothing is done, if the batch has no two calls to join.
func (j *joiner) join(batch []*Call) (out []*Call, ok bool) {
	joinable := 0
	for _, c := range batch {
		if c.Part.Joint != nil {
			joinable++
		}
	}
	if joinable < 2 {
		return nil, false
	}
	clear(j.out)
	j.out = slices.Grow(j.out[:0], len(batch)+1) // and a check
	for _, c := range batch {
		switch {
		case c.Part.Joint != nil:
			j.putOff(c)
		case hasOf(j.groups, c.Key):
			j.emitAll()
			fallthrough
		default:
			j.out = append(j.out, c)
		}
	}
	j.emitAll()
	return j.out, true
}

// hasOf reports whether a call with this key may have been put off into the groups; key 0
// means any key.
func hasOf(groups []*group, key uint64) bool {
	word, bit := slotOf(key)
	for _, g := range groups {
		if len(g.calls) > 0 && (key == 0 || g.keys[word]&bit != 0) {
			return true
		}
	}
	return false
}

func slotOf(key uint64) (word int, bit uint64) { return int(key >> 6 & 63), 1 << (key & 63) }

// putOff puts a call into its group. Groups are sent one after the other, so no later
// group may have a call with the same key.
func (j *joiner) putOff(c *Call) {
	at := j.groupOf(c.Part.Joint)
	if hasOf(j.groups[at+1:], c.Key) {
		j.emitAll()
		at = j.groupOf(c.Part.Joint)
	}
	g := j.groups[at]
	word, bit := slotOf(c.Key)
	g.keys[word] |= bit
	if g.calls = append(g.calls, c); len(g.calls) == mostParts {
		j.emitUpTo(at)
	}
}

// groupOf returns the index of a Joint's group. Empty groups are at the end.
func (j *joiner) groupOf(joint *Joint) int {
	for i, g := range j.groups {
		if len(g.calls) == 0 {
			g.joint = joint
		}
		if g.joint == joint {
			return i
		}
	}
	j.groups = append(j.groups, &group{joint: joint})
	return len(j.groups) - 1
}

func (j *joiner) emitAll() { j.emitUpTo(len(j.groups) - 1) }

// emitUpTo moves the groups up to last to out, each as one command.
func (j *joiner) emitUpTo(last int) {
	for _, g := range j.groups[:last+1] {
		switch {
		case len(g.calls) == 1:
			j.out = append(j.out, g.calls[0])
		case len(g.calls) > 1:
			j.out = append(j.out, newJoint(g))
		}
		clear(g.calls)
		g.calls, g.keys = g.calls[:0], [64]uint64{}
	}
	if last+1 < len(j.groups) {
		slices.Reverse(j.groups[:last+1])
		slices.Reverse(j.groups[last+1:])
		slices.Reverse(j.groups)
	}
}

// newJoint encodes the command for a group.
func newJoint(g *group) *Call {
	c, _ := joints.Get().(*joint)
	c.parts = c.parts[:0]
	keys := 0
	for _, second := range []bool{true, false} {
		for _, part := range g.calls {
			if part.Part.Keys[1].empty() == second {
				continue
			}
			c.parts = append(c.parts, part)
			for _, key := range part.Part.Keys {
				if !key.empty() {
					keys++
				}
			}
		}
	}
	b := AppendArray(c.command.Encoded[:0], 3+keys+g.joint.Args*len(c.parts)+1)
	b = AppendBulk(b, "EVALSHA")
	b = AppendBulk(b, g.joint.SHA)
	b = AppendInt(b, int64(keys))
	for k := range (Part{}).Keys {
		for _, part := range c.parts {
			b = append(b, part.piece(part.Part.Keys[k])...)
		}
	}
	for _, part := range c.parts {
		b = append(b, part.piece(part.Part.Args)...)
	}
	b = append(b, g.joint.Last...)
	c.command = Command{Cmd: "EVALSHA", Encoded: b, Check: c.parts[0].Check}
	c.Call = Call{Command: &c.command, Sent: true, Epoch: c.parts[0].Epoch, joint: c}
	return &c.Call
}

// free makes the joint command available again. Its parts must have been completed.
func (c *joint) free() {
	clear(c.parts)
	c.parts = c.parts[:0]
	c.Call, c.command = Call{}, Command{Encoded: c.command.Encoded[:0]}
	joints.Put(c)
}

// join makes joint commands from a batch, unless the master has refused one.
func (s *session) join(batch []*Call) ([]*Call, bool) {
	if s.apart.Load() {
		return nil, false
	}
	return s.joiner.join(batch)
}

// receiveJoint reads the reply to a joint command, and completes the calls in it.
func (s *session) receiveJoint(c *joint) error {
	kind, n := c.parts[0].Part.Joint, len(c.parts)
	ints, ok, err := s.wire.ints(s.ints[:0])
	var reply any
	if !ok && err == nil {
		reply, err = s.rc.Receive()
	}
	refusal := err
	if err != nil && !isReply(err) {
		return err
	}
	s.count()
	var others []any
	if !ok && err == nil {
		ints, others, err = splitJoint(reply, kind.Ints, n, ints)
	} else if ok && len(ints) != kind.Ints*n {
		err = protocolError("%d numbers for %d questions", len(ints), n)
	}
	s.ints = ints
	if err != nil && refusal == nil {
		s.p.completed.Add(-uint64(1 + s.wire.ahead())) // they were counted, but no owner gets them
		return err
	}
	s.p.commands.Add(uint64(n) - 1) // s.count has counted one
	s.p.completed.Add(uint64(n) - 1)
	s.timed(&c.Call)
	if refusal != nil {
		s.apart.Store(true)
	}
	for i, part := range c.parts {
		switch {
		case refusal != nil:
			part.Apart = true
			s.replied(part, nil, refusal)
		case kind.Ints == 1:
			s.replied(part, number(ints[i]), nil)
		case ints[3*i] != otherReply:
			part.ints = ThreeInts(ints[3*i:])
			s.replied(part, &part.ints, nil)
		default:
			if err, isError := others[0].(redis.Error); isError {
				s.replied(part, nil, err)
			} else {
				s.replied(part, others[0], nil)
			}
			others = others[1:]
		}
	}
	c.free()
	return nil
}

// number returns n as a reply. Small numbers need no allocation.
func number(n int64) any {
	if n >= 0 && n < int64(len(replyDigits)) {
		return replyDigits[n]
	}
	return n
}

// splitJoint splits the reply to a joint command of n calls, as redigo parses it, into
// the numbers (each for every call) and the replies behind them. There must be exactly as
// many of these as the numbers announce.
func splitJoint(reply any, each, n int, dst []int64) (ints []int64, others []any, err error) {
	all, ok := reply.([]any)
	if !ok || len(all) < each*n {
		return dst, nil, protocolError("no array of %d numbers for %d questions", each*n, n)
	}
	announced := 0
	for i, part := range all[:each*n] {
		number, ok := part.(int64)
		if !ok {
			return dst, nil, protocolError("no number for one of several questions")
		}
		if dst = append(dst, number); each > 1 && i%each == 0 && number == otherReply {
			announced++
		}
	}
	if others = all[each*n:]; len(others) != announced {
		return dst, nil, protocolError("%d further answers, want %d", len(others), announced)
	}
	return dst, others, nil
}
