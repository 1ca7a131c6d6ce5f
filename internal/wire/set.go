package wire

import "github.com/redquorum/redquorum/internal/script"

// Set is the lock of several keys together. For the masters and for other clients each key is
// a plain lock, all with the same token.
var Set = &Kind{
	acquire: script.AcquireAll,
	extend:  script.ExtendAll,
	verify:  script.VerifyAll,
	release: script.ReleaseAll,
	scripted: scriptedKind{
		acquire:  script.GuardedAcquire,
		extend:   script.GuardedExtendAll,
		release:  script.GuardedReleaseAll,
		handOver: script.GuardedReleaseSet,
	},
	readGrant: readGrant,
	handOver:  script.ReleaseSet,
}
