package wire

import "github.com/redquorum/redquorum/internal/script"

// Set is the lock of several keys together. To the masters and to other clients each of
// them is a plain lock with the same token.
var Set = &Kind{
	name:      "set",
	acquire:   script.AcquireAll,
	extend:    script.ExtendAll,
	verify:    script.VerifyAll,
	release:   script.ReleaseAll,
	scripted:  scriptedKind{acquire: script.GuardedAcquire, extend: script.GuardedExtendAll, release: script.GuardedReleaseAll, handOver: script.GuardedReleaseSet},
	readGrant: readGrant,
	Together:  true,
	inTheWay:  "last",
	handOver:  script.ReleaseSet,
}
