package script

import (
	_ "embed" // the scripts
	"strings"
)

//go:embed acquirebatch.lua
var acquireBatchSource string

//go:embed releasebatch.lua
var releaseBatchSource string

//go:embed releaseleases.lua
var releaseLeasesSource string

// The scripts that do for many locks what other scripts do for one.
var (
	// ReleaseBatch does Release for each lock, and for the first ones the release of Queue.
	ReleaseBatch = newScript("releasebatch", withHandOver(releaseBatchSource))
	// ReleaseLeases does the same in strict: GuardedRelease, and the release of Queue there.
	ReleaseLeases = newScript("releaseleases", releaseLeasesSource+withHandOver(releaseBatchSource))
	// AcquireBatch does GuardedAcquire for each lock.
	AcquireBatch = newScript("acquirebatch", withGuardedAcquire(acquireBatchSource))
)

// includeGuardedAcquire is the line that includes guarded_acquire.lua as the function acquire.
const includeGuardedAcquire = "-- include guarded_acquire.lua\n"

// withGuardedAcquire returns a script with that line replaced.
func withGuardedAcquire(source string) string {
	acquire := "local function acquire(KEYS, ARGV)\n" + guardedSource + guardedAcquireSource + "end\n"
	return strings.Replace(source, includeGuardedAcquire, acquire, 1)
}
