package wire

import (
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// Plain is the lock of one key, and also the writer of a read-write lock. SET NX PX acquires
// it. At the pilot, queue.lua acquires and releases it, and calls the next waiter. Only plain
// locks can be adopted; several keys are adopted one by one. Releases can share a command.
var Plain = &Kind{
	extend:  script.Extend,
	verify:  script.Verify,
	release: script.Release,
	scripted: scriptedKind{
		acquire: script.GuardedAcquire,
		extend:  script.GuardedExtend,
		release: script.GuardedRelease,
	},
	readGrant: readSet,
}

// encodeSet makes the command of an acquisition without a script.
func (a *Ask) encodeSet(c *Claim) {
	b := pipeline.AppendArray(a.Command.Encoded[:0], 6)
	b = pipeline.AppendBulk(b, "SET")
	b = pipeline.AppendBulk(b, c.Key())
	b = pipeline.AppendBulk(b, c.Token)
	b = pipeline.AppendBulk(b, "NX")
	b = pipeline.AppendBulk(b, "PX")
	a.Command.Encoded = pipeline.AppendInt(b, c.milliseconds())
}

// readSet reads the answer to SET NX.
func readSet(_ *Ask, f *fact, reply any) ballot.Answer {
	switch reply {
	case any("OK"):
		return agreed
	case nil:
		return refusal(f, &heldUnknown)
	}
	return ballot.Answer{}
}
