package wire

import (
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// Releases of single keys that go to a master in one flush become one command, which takes
// the master a fraction of the time. Acquisitions by a script are combined in the same way.
// Acquisitions by SET NX are not: they cost less than any script would.

// batches has the scripts that combine a client's commands into one.
type batches struct{ release, acquire pipeline.BatchScript }

func newBatches(cfg *Config, retention any) batches {
	release := script.ReleaseBatch
	if cfg.Strict {
		release = script.ReleaseLeases
	}
	return batches{
		release: pipeline.BatchScript{SHA: release.SHA, Args: 1, Last: pipeline.AppendBulk(nil, cfg.ID), Ints: 1},
		acquire: pipeline.BatchScript{
			SHA: script.AcquireBatch.SHA, Args: 6, Last: pipeline.AppendArgs(nil, retention), Ints: 3,
		},
	}
}

// encodeRelease makes the command that releases one key. The command may go out in a batch,
// and so may the pilot's own command, which was made before.
func (a *Ask) encodeRelease(c *Claim) {
	key, strict := c.Key(), a.w.cfg.Strict
	s, keys := c.Kind.release, int64(1)
	if strict {
		s, keys = c.Kind.scripted.release, 2
	}
	b := a.beginEval(s, keys, 1)
	at := len(b)
	b = pipeline.AppendBulk(b, key)
	keyEnd := len(b)
	if strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	leaseEnd := len(b)
	b = pipeline.AppendBulk(b, c.Token)

	a.Command.Encoded, a.Command.Key = b, c.id()
	a.Command.Batch = pipeline.BatchPart{
		Script: &a.w.batches.release,
		Keys:   [3]pipeline.Piece{0: pipeline.PieceOf(at, keyEnd), 2: pipeline.PieceOf(keyEnd, leaseEnd)},
		Args:   pipeline.PieceOf(leaseEnd, len(b)),
	}
	a.atPilot.release.command.Batch.Script = a.Command.Batch.Script
}

// encodeAcquire does the same for an acquisition by script.GuardedAcquire.
func (a *Ask) encodeAcquire(c *Claim, n scriptedNumbers) {
	key, fenced, strict := c.Key(), c.Fenced, a.w.cfg.Strict
	keys := int64(1)
	if fenced {
		keys++
	}
	if strict {
		keys++
	}
	b := a.beginEval(c.scriptedAcquire(), keys, 7)
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
	b = pipeline.AppendBulk(b, c.Token)
	b = pipeline.AppendInt(b, c.milliseconds())
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
	b = pipeline.AppendArgs(b, a.w.retention)

	if fenced {
		a.clock.floor = uint64(n.fence) //nolint:gosec // it is not negative
	}
	a.Command.Encoded = b
	a.Command.Batch = pipeline.BatchPart{
		Script: &a.w.batches.acquire,
		Keys: [3]pipeline.Piece{
			pipeline.PieceOf(at, keyEnd), pipeline.PieceOf(keyEnd, fenceEnd), pipeline.PieceOf(fenceEnd, args),
		},
		Args: pipeline.PieceOf(args, argsEnd),
	}
}

// beginEval encodes a call of a script up to its keys.
func (a *Ask) beginEval(s *script.Script, keys, args int64) []byte {
	a.script = s
	b := pipeline.AppendArray(a.Command.Encoded[:0], int(3+keys+args))
	b = pipeline.AppendBulk(b, evalSHA)
	b = pipeline.AppendBulk(b, s.SHA)
	return pipeline.AppendInt(b, keys)
}
