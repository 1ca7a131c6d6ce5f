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

// A BatchScript describes calls that can be joined into one command. Two calls can be joined if
// both point to the same BatchScript.
//
// The command runs a script. Its keys are the first keys of all calls, then their second
// keys, then their third keys; calls with a second key come first. Its arguments are those
// of all calls, and then Last.
//
// The script replies with an array that has Ints numbers for each call; they become the
// call's reply. Where Ints is 3, the first of a call's numbers may be -1. Then the call's
// reply follows behind all numbers, in the order of such calls. If the script replies with
// an error, it has done nothing, and Call.BatchRefused is set.
type BatchScript struct {
	SHA  string
	Args int    // arguments of each call
	Last []byte // one encoded argument for all calls together
	Ints int    // numbers in the reply to each call: 1, or 3 (a *ThreeInts)
}

// A BatchPart says which pieces of a call's own command go into a batch.
type BatchPart struct {
	Script *BatchScript
	Keys   [3]Piece
	Args   Piece
}

// A Piece is a piece of Command.Encoded. The zero Piece is empty.
type Piece struct{ From, To int32 }

// PieceOf returns the piece between two lengths that the command had while it was
// encoded.
func PieceOf(from, to int) Piece { return Piece{int32(from), int32(to)} } //nolint:gosec // commands are shorter

func (s Piece) empty() bool { return s.From == s.To }

func (c *Command) piece(s Piece) []byte { return c.Encoded[s.From:s.To] }

// otherReply marks a call whose reply follows behind the numbers.
const otherReply = -1

// mostInBatch bounds the calls of a batch, and so how long it keeps a master busy:
// about 50 us with releases, 300 us with acquisitions under the strict guard.
const mostInBatch = 64

// A batch is one command for several calls.
type batch struct {
	Call
	command Command
	calls   []*Call
}

var batchPool = sync.Pool{New: func() any { return new(batch) }}

// A batcher makes batches from the calls of a writer's flush. Calls to be joined are sent
// after the other calls, but before the next call with the same key: commands
// for a key stay in order (invariant S5).
type batcher struct {
	groups []*group // in the order in which they are sent
	out    []*Call
}

// A group has calls of one BatchScript that are sent later in the flush.
type group struct {
	script *BatchScript
	calls  []*Call
	keys   [64]uint64 // a bit for each of their keys
}

// makeBatches makes batches from the calls of a flush. The result is valid until the next
// call. ok is false, and nothing is done, if the flush has no two calls to join.
func (j *batcher) makeBatches(flush []*Call) (out []*Call, ok bool) {
	joinable := 0
	for _, c := range flush {
		if c.Batch.Script != nil {
			joinable++
		}
	}
	if joinable < 2 {
		return nil, false
	}
	clear(j.out)
	j.out = slices.Grow(j.out[:0], len(flush)+1) // one more for a check
	for _, c := range flush {
		switch {
		case c.Batch.Script != nil:
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
func (j *batcher) putOff(c *Call) {
	at := j.groupOf(c.Batch.Script)
	if hasOf(j.groups[at+1:], c.Key) {
		j.emitAll()
		at = j.groupOf(c.Batch.Script)
	}
	g := j.groups[at]
	word, bit := slotOf(c.Key)
	g.keys[word] |= bit
	if g.calls = append(g.calls, c); len(g.calls) == mostInBatch {
		j.emitUpTo(at)
	}
}

// groupOf returns the index of a BatchScript's group. Empty groups are at the end.
func (j *batcher) groupOf(script *BatchScript) int {
	for i, g := range j.groups {
		if len(g.calls) == 0 {
			g.script = script
		}
		if g.script == script {
			return i
		}
	}
	j.groups = append(j.groups, &group{script: script})
	return len(j.groups) - 1
}

func (j *batcher) emitAll() { j.emitUpTo(len(j.groups) - 1) }

// emitUpTo moves the groups up to last to out, each as one command.
func (j *batcher) emitUpTo(last int) {
	for _, g := range j.groups[:last+1] {
		switch {
		case len(g.calls) == 1:
			j.out = append(j.out, g.calls[0])
		case len(g.calls) > 1:
			j.out = append(j.out, newBatch(g))
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

// newBatch encodes the command for a group.
func newBatch(g *group) *Call {
	c, _ := batchPool.Get().(*batch)
	c.calls = c.calls[:0]
	keys := 0
	for _, second := range []bool{true, false} {
		for _, call := range g.calls {
			if call.Batch.Keys[1].empty() == second {
				continue
			}
			c.calls = append(c.calls, call)
			for _, key := range call.Batch.Keys {
				if !key.empty() {
					keys++
				}
			}
		}
	}
	b := AppendArray(c.command.Encoded[:0], 3+keys+g.script.Args*len(c.calls)+1)
	b = AppendBulk(b, "EVALSHA")
	b = AppendBulk(b, g.script.SHA)
	b = AppendInt(b, int64(keys))
	for k := range (BatchPart{}).Keys {
		for _, call := range c.calls {
			b = append(b, call.piece(call.Batch.Keys[k])...)
		}
	}
	for _, call := range c.calls {
		b = append(b, call.piece(call.Batch.Args)...)
	}
	b = append(b, g.script.Last...)
	c.command = Command{Cmd: "EVALSHA", Encoded: b, Check: c.calls[0].Check}
	c.Call = Call{Command: &c.command, Sent: true, Epoch: c.calls[0].Epoch, batch: c}
	return &c.Call
}

// free makes the batch available again. Its calls must have been completed.
func (c *batch) free() {
	clear(c.calls)
	c.calls = c.calls[:0]
	c.Call, c.command = Call{}, Command{Encoded: c.command.Encoded[:0]}
	batchPool.Put(c)
}

// makeBatches makes batches from the calls of a flush, unless the master has refused one.
func (s *session) makeBatches(flush []*Call) ([]*Call, bool) {
	if s.batchRefused.Load() {
		return nil, false
	}
	return s.batcher.makeBatches(flush)
}

// receiveBatch reads the reply to a batch, and completes the calls in it.
func (s *session) receiveBatch(c *batch) error {
	kind, n := c.calls[0].Batch.Script, len(c.calls)
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
		ints, others, err = splitBatch(reply, kind.Ints, n, ints)
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
		s.batchRefused.Store(true)
	}
	for i, call := range c.calls {
		switch {
		case refusal != nil:
			call.BatchRefused = true
			s.replied(call, nil, refusal)
		case kind.Ints == 1:
			s.replied(call, number(ints[i]), nil)
		case ints[3*i] != otherReply:
			call.ints = ThreeInts(ints[3*i:])
			s.replied(call, &call.ints, nil)
		default:
			if err, isError := others[0].(redis.Error); isError {
				s.replied(call, nil, err)
			} else {
				s.replied(call, others[0], nil)
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

// splitBatch splits the reply to a batch of n calls, as redigo parses it, into
// the numbers (perCall for each call) and the replies behind them. There must be exactly as
// many of these as the numbers announce.
func splitBatch(reply any, perCall, n int, dst []int64) (ints []int64, others []any, err error) {
	all, ok := reply.([]any)
	if !ok || len(all) < perCall*n {
		return dst, nil, protocolError("no array of %d numbers for %d questions", perCall*n, n)
	}
	announced := 0
	for i, part := range all[:perCall*n] {
		number, ok := part.(int64)
		if !ok {
			return dst, nil, protocolError("no number for one of several questions")
		}
		if dst = append(dst, number); perCall > 1 && i%perCall == 0 && number == otherReply {
			announced++
		}
	}
	if others = all[perCall*n:]; len(others) != announced {
		return dst, nil, protocolError("%d further answers, want %d", len(others), announced)
	}
	return dst, others, nil
}
