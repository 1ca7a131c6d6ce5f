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
		acquire: pipeline.Joint{SHA: script.AcquireEach.SHA, Args: 5, Last: pipeline.AppendArgs(nil, o.retentionArg), Ints: 3},
	}
}

// A roundPart is a round's part in joint commands: at the pilot, where who waits
// next is told of a release, and elsewhere.
type roundPart struct {
	buffer       []byte // what both are made of
	pilot, plain pipeline.Part
}

func (p *roundPart) of(pilot bool) *pipeline.Part {
	if pilot {
		return &p.pilot
	}
	return &p.plain
}

// joinRelease makes the round, a release of the plain lock l, one that may be
// joined with others.
func (r *round) joinRelease(l *Lock) {
	key := l.fullKey()
	p := &r.part
	b := pipeline.AppendBulk(p.buffer[:0], key)
	keyEnd := len(b)
	b = pipeline.AppendBulk(b, l.token)
	tokenEnd := len(b)
	b = pipeline.AppendBulk(b, queuePrefix, key, queueSuffix)
	queueEnd := len(b)
	strict := l.c.opts.strict()
	if strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	p.buffer = b
	p.plain = pipeline.Part{Joint: &l.c.joints.release, Keys: [3][]byte{b[:keyEnd]}, Args: b[keyEnd:tokenEnd]}
	if strict {
		p.plain.Keys[2] = b[queueEnd:]
	}
	p.pilot = p.plain
	p.pilot.Keys[1] = b[tokenEnd:queueEnd]
	r.key, r.joins = keyOf(l), true
}

// joinAcquire is joinRelease for an acquisition by script.GuardedAcquire, with
// what that takes.
func (r *round) joinAcquire(l *Lock, args *[7]any) {
	key := l.fullKey()
	p := &r.part
	b := pipeline.AppendArgs(p.buffer[:0], args[0], args[1], args[3], args[4], args[5])
	p.plain = pipeline.Part{Joint: &l.c.joints.acquire}
	var ends [4]int
	ends[0] = len(b)
	for i, prefix := range []string{"", fencePrefix, leasePrefix} {
		if i == 0 || i == 1 && l.opts.fenced || i == 2 && l.c.opts.strict() {
			b = pipeline.AppendBulk(b, prefix, key)
		}
		ends[i+1] = len(b)
	}
	p.buffer = b
	p.plain.Args = b[:ends[0]]
	for i := range p.plain.Keys {
		if ends[i] != ends[i+1] {
			p.plain.Keys[i] = b[ends[i]:ends[i+1]]
		}
	}
	r.joins = true
}

// keyOf tells commands about different keys apart: 0 where there are several.
func keyOf(l *Lock) uint64 {
	if len(l.keyArgs) > 1 {
		return 0
	}
	return mix(hashOf(l.fullKey())) | 1<<63 // not 0
}
