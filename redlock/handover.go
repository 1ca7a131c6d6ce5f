package redlock

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// Who gives a lock back tells who waits first: the release of the key's pilot
// looks into the advisory queue there.

// The keys of advisory queues: version 1.
const (
	queuePrefix = reservedPrefix + "q:1:{"
	queueSuffix = "}"
)

// queueKey is where the advisory queue of a key is; key has the prefix.
func queueKey(key string) string { return queuePrefix + key + queueSuffix }

// queueExpiry is how long a queue lives that nobody looks into; as in
// queue.lua.
const queueExpiry = 30 * time.Second

// Arguments of the queue's script, boxed once.
var (
	argWait, argTake, argLeave any = "wait", "take", "leave"
	argNoWait                  any = "-"
	argAnybody, argOnlyFirst   any = "0", "1"
)

// handOver is the part of a release that only the pilot gets.
type handOver struct {
	lock    *Lock
	command pipeline.Command
	plain   bool // the pilot refused it, and gets what the others got
}

// encode makes the pilot's own command. The arguments are not boxed: most
// releases find nobody waiting, and should not pay for it.
func (h *handOver) encode(l *Lock) {
	key := l.fullKey()
	h.lock = l
	strict := l.c.opts.strict()
	n, keys := 8, "2"
	if strict {
		n, keys = 9, "3"
	}
	b := pipeline.AppendArray(h.command.Encoded[:0], n)
	b = pipeline.AppendBulk(b, evalSHA)
	b = pipeline.AppendBulk(b, script.Queue.SHA)
	b = pipeline.AppendBulk(b, keys)
	at := len(b)
	b = pipeline.AppendBulk(b, key)
	keyEnd := len(b)
	b = pipeline.AppendBulk(b, queuePrefix, key, queueSuffix)
	queueEnd := len(b)
	if strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	leaseEnd := len(b)
	b = pipeline.AppendBulk(b, "release")
	b = pipeline.AppendBulk(b, l.c.id)
	token := len(b)
	b = pipeline.AppendBulk(b, l.claim.token)

	h.command.Encoded = b
	h.command.Part = pipeline.Part{ // without a Joint: not every kind of lock has one
		Keys: [3]pipeline.Span{pipeline.SpanOf(at, keyEnd), pipeline.SpanOf(keyEnd, queueEnd), pipeline.SpanOf(queueEnd, leaseEnd)},
		Args: pipeline.SpanOf(token, len(b)),
	}
}

func (h *handOver) clear() {
	h.lock, h.plain = nil, false
	h.command = pipeline.Command{Encoded: h.command.Encoded[:0]}
}

// refused reports whether the pilot has just refused its own command, for want
// of a permission, say: the lock must be released there all the same.
func (h *handOver) refused(call *pipeline.Call) bool {
	if h.plain || !pipeline.IsReply(call.Err) {
		return false
	}
	h.plain = true
	h.lock.c.pilots.Forbidden(call.Slot, call.Err)
	return true
}

// fullKey is the lock's first key in Redis.
func (l *Lock) fullKey() string {
	key, _ := l.claim.keys[0].(string)
	return key
}

// split takes the pilot's reply apart: what release.lua says, and who was told.
func (h *handOver) split(reply any) (released any, told successor) {
	n, ok := reply.(int64)
	if !ok || n < 0 || n > 29 {
		return reply, nobody
	}
	return n % 10, successor(n / 10)
}

// A successor is whom a release handed the lock over to.
type successor uint8

const (
	nobody        successor = iota // waits at the pilot, as far as is known
	anotherClient                  //
	thisClient                     //
)

// released is told of the pilot's answer to a release. When another client was
// told, those who wait here wait on, or else one process would starve the
// others.
func (c *Client) released(pilot int, key string, told successor) {
	switch told {
	case anotherClient:
	case thisClient:
		if !c.hub.Call(pilot, key) && !c.lines.wakeFirst(key) {
			c.leaveQueue(pilot, key)
		}
	default: // who queues up nowhere, or at another master, may wait here
		if c.lines.anybody() && !c.lines.wakeFirst(key) {
			c.hub.Call(pilot, key)
		}
	}
}

// passOn gives back a wake-up that its waiter does not need any more: the next
// one of this client gets it, or else the next one in the queue.
func (c *Client) passOn(master int, key string) {
	if !c.hub.Call(master, key) {
		c.leaveQueue(master, key)
	}
}

// leaveQueue takes this client out of a queue. If the key is free the next one
// there is told.
func (c *Client) leaveQueue(master int, key string) {
	c.askQueue(master, time.Now().Add(queueExpiry), key, argLeave)
}

// A notice of a release is what is told once the round's mutex is free.
type notice struct {
	lock  *Lock
	pilot int
	told  successor

	// Of a release that tells by itself.
	c       *Client
	keys    []any
	heirs   []any
	passing bool
}

// successor is the notice to give when the pilot's part of a release has come
// back, or any part of one that tells by itself. The caller must hold r.mu.
func (r *round) successor(call *pipeline.Call, told successor, heirs []any) notice {
	switch {
	case r.tells != nil:
		return notice{c: r.c, pilot: call.Slot, keys: r.tells, heirs: heirs, passing: r.passing}
	case call.Slot != r.pilot || r.take != nil:
		return notice{}
	}
	return notice{lock: r.own.lock, pilot: r.pilot, told: told}
}

func (n notice) tell() {
	switch {
	case n.keys != nil:
		n.tellEach()
	case n.lock != nil:
		n.lock.c.released(n.pilot, n.lock.fullKey(), n.told)
	}
}

// splitHeirs takes the reply to a release that tells by itself apart: what it
// says of the release, and then the number of a key, counted from 1, and who was
// told of it, and so on.
func splitHeirs(reply any) (released any, heirs []any) {
	switch parts := reply.(type) {
	case *pipeline.ThreeInts: // of one key
		return parts[0], []any{parts[1], parts[2]}
	case []any:
		if len(parts)%2 == 1 {
			return parts[0], parts[1:]
		}
	}
	return reply, nil
}

// tellEach is tell for each key. That nobody waits for a key at its pilot is
// known only if the pilot has said nothing of it.
func (n notice) tellEach() {
	here := !n.passing && n.c.lines.anybody()
	if len(n.heirs) == 0 && !here {
		return
	}
	said := make(map[int]bool, len(n.heirs)/2)
	for i := 0; i+1 < len(n.heirs); i += 2 {
		number, ok1 := n.heirs[i].(int64)
		told, ok2 := n.heirs[i+1].(int64)
		if !ok1 || !ok2 || number < 1 || number > int64(len(n.keys)) || told < 0 || told > int64(thisClient) {
			return
		}
		key := n.keys[number-1].(string)
		if said[int(number-1)] = told > 0; told > 0 {
			n.c.released(n.pilot, key, successor(told))
		}
		if successor(told) == anotherClient { // whoever comes here next is to come behind that one
			n.c.setContended(key, true)
		}
	}
	if !here {
		return
	}
	for i, key := range n.keys {
		if key := key.(string); !said[i] && n.c.pilots.Of(key, 0) == n.pilot {
			n.c.released(n.pilot, key, nobody)
		}
	}
}
