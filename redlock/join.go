package redlock

import (
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// Releases of one key each that go to a master in one flush are made one
// command: that takes the master a fraction of the time. So are acquisitions by a
// script; those by SET NX cost it less than any script would.

// joints are how a client's commands are made one.
type joints struct{ release, acquire pipeline.Joint }

func newJoints(id string, o *clientOptions) joints {
	release := script.ReleaseEach
	if o.strict() {
		release = script.ReleaseLeases
	}
	return joints{
		release: pipeline.Joint{SHA: release.SHA, Args: 1, Last: pipeline.AppendBulk(nil, id), Ints: 1},
		acquire: pipeline.Joint{SHA: script.AcquireEach.SHA, Args: 6, Last: pipeline.AppendArgs(nil, o.retentionArg), Ints: 3},
	}
}

// A roundPart is a round's part in joint commands, of the bytes of its own: at the
// pilot, where who waits next is told of a release, and elsewhere.
type roundPart struct{ pilot, plain pipeline.Part }

func (p *roundPart) of(pilot bool) *pipeline.Part {
	if pilot {
		return &p.pilot
	}
	return &p.plain
}

// encodeRelease makes the round's command, a release of the plain lock l, one
// that may be joined with others. The pilot's is made before.
func (r *round) encodeRelease(l *Lock) {
	key, strict := l.fullKey(), l.c.opts.strict()
	s, keys := l.kind.release, int64(1)
	if strict {
		s, keys = l.kind.guarded.release, 2
	}
	b := r.beginEval(s, keys, 1)
	at := len(b)
	b = pipeline.AppendBulk(b, key)
	keyEnd := len(b)
	if strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	leaseEnd := len(b)
	b = pipeline.AppendBulk(b, l.token)

	p := &r.part
	p.plain = pipeline.Part{Joint: &l.c.joints.release, Keys: [3][]byte{b[at:keyEnd]}, Args: b[leaseEnd:]}
	if strict {
		p.plain.Keys[2] = b[keyEnd:leaseEnd]
	}
	p.pilot = p.plain
	p.pilot.Keys[1] = r.own.queue
	r.encoded, r.key, r.joins = b, keyOf(l), true
}

// encodeAcquire is encodeRelease for an acquisition by script.GuardedAcquire.
func (r *round) encodeAcquire(l *Lock, n guardedNumbers) {
	key, fenced, strict := l.fullKey(), l.opts.fenced, l.c.opts.strict()
	keys := int64(1)
	if fenced {
		keys++
	}
	if strict {
		keys++
	}
	b := r.beginEval(l.acquireScript(), keys, 7)
	at := len(b)
	b = pipeline.AppendBulk(b, key)
	keyEnd := len(b)
	if fenced {
		b = pipeline.AppendBulk(b, fencePrefix, key)
	}
	fenceEnd := len(b)
	if strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	args := len(b)
	b = pipeline.AppendBulk(b, l.token)
	b = pipeline.AppendArgs(b, l.ttlArg, argUnused)
	if fenced {
		b = pipeline.AppendInt(b, n.fence)
	} else {
		b = pipeline.AppendBulk(b)
	}
	if strict {
		b = pipeline.AppendInt(pipeline.AppendInt(b, n.least), n.most)
	} else {
		b = pipeline.AppendBulk(pipeline.AppendBulk(b))
	}
	argsEnd := len(b)
	b = pipeline.AppendArgs(b, l.c.opts.retentionArg)

	p := &r.part.plain
	*p = pipeline.Part{Joint: &l.c.joints.acquire, Keys: [3][]byte{b[at:keyEnd]}, Args: b[args:argsEnd]}
	if fenced {
		p.Keys[1] = b[keyEnd:fenceEnd]
		r.guard.floor = uint64(n.fence) //nolint:gosec // it is not negative
	}
	if strict {
		p.Keys[2] = b[fenceEnd:args]
	}
	r.encoded, r.joins = b, true
}

// beginEval encodes a call of a script up to its keys.
func (r *round) beginEval(s *script.Script, keys, args int64) []byte {
	r.script = s
	b := pipeline.AppendArray(r.encoded[:0], int(3+keys+args))
	b = pipeline.AppendBulk(b, evalSHA)
	b = pipeline.AppendBulk(b, s.SHA)
	return pipeline.AppendInt(b, keys)
}

// keyOf tells commands about different keys apart: 0 where there are several.
func keyOf(l *Lock) uint64 {
	if len(l.keyArgs) > 1 {
		return 0
	}
	return mix(hashOf(l.fullKey())) | 1<<63 // not 0
}
