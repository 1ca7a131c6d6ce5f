package redlock

import (
	"github.com/redquorum/redquorum/internal/hash"
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

// encodeRelease makes the round's command, a release of the plain lock l, one
// that may be joined with others. So may the pilot's own then, which is made
// before.
func (r *round) encodeRelease(l *Lock) {
	key, strict := l.fullKey(), l.c.opts.strict()
	s, keys := l.claim.kind.release, int64(1)
	if strict {
		s, keys = l.claim.kind.guarded.release, 2
	}
	b := r.beginEval(s, keys, 1)
	at := len(b)
	b = pipeline.AppendBulk(b, key)
	keyEnd := len(b)
	if strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	leaseEnd := len(b)
	b = pipeline.AppendBulk(b, l.claim.token)

	r.Command.Encoded, r.Command.Key = b, keyOf(l)
	r.Command.Part = pipeline.Part{
		Joint: &l.c.joints.release,
		Keys:  [3]pipeline.Span{0: pipeline.SpanOf(at, keyEnd), 2: pipeline.SpanOf(keyEnd, leaseEnd)},
		Args:  pipeline.SpanOf(leaseEnd, len(b)),
	}
	r.own.command.Part.Joint = r.Command.Part.Joint
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
	b = pipeline.AppendBulk(b, l.claim.token)
	b = pipeline.AppendInt(b, l.ttlArg())
	b = pipeline.AppendArgs(b, argUnused)
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

	if fenced {
		r.guard.floor = uint64(n.fence) //nolint:gosec // it is not negative
	}
	r.Command.Encoded = b
	r.Command.Part = pipeline.Part{
		Joint: &l.c.joints.acquire,
		Keys:  [3]pipeline.Span{pipeline.SpanOf(at, keyEnd), pipeline.SpanOf(keyEnd, fenceEnd), pipeline.SpanOf(fenceEnd, args)},
		Args:  pipeline.SpanOf(args, argsEnd),
	}
}

// beginEval encodes a call of a script up to its keys.
func (r *round) beginEval(s *script.Script, keys, args int64) []byte {
	r.script = s
	b := pipeline.AppendArray(r.Command.Encoded[:0], int(3+keys+args))
	b = pipeline.AppendBulk(b, evalSHA)
	b = pipeline.AppendBulk(b, s.SHA)
	return pipeline.AppendInt(b, keys)
}

// keyOf tells commands about different keys apart: 0 where there are several.
func keyOf(l *Lock) uint64 {
	if len(l.claim.keys) > 1 {
		return 0
	}
	return hash.Mix(hash.Text(l.fullKey())) | 1<<63 // not 0
}
