package script

import (
	_ "embed" // the scripts
	"strings"
)

//go:embed acquireeach.lua
var acquireEachSource string

//go:embed releaseeach.lua
var releaseEachSource string

//go:embed releaseleases.lua
var releaseLeasesSource string

// The scripts that do for many locks what other scripts do for one.
var (
	// ReleaseEach is Release, and for some the release of Queue.
	ReleaseEach = newScript("releaseeach", withHandOver(releaseEachSource))
	// ReleaseLeases is the same in strict: GuardedRelease, and the release of Queue there.
	ReleaseLeases = newScript("releaseleases", releaseLeasesSource+withHandOver(releaseEachSource))
	// AcquireEach is GuardedAcquire.
	AcquireEach = newScript("acquireeach", withGuardedAcquire(acquireEachSource))
)

// includeGuardedAcquire is the line that includes guarded_acquire.lua as the function
// acquire.
const includeGuardedAcquire = "-- include guarded_acquire.lua\n"

// withGuardedAcquire returns a script with that line replaced.
func withGuardedAcquire(source string) string {
	acquire := "local function acquire(KEYS, ARGV)\n" + guardedSource + guardedAcquireSource + "end\n"
	return strings.Replace(source, includeGuardedAcquire, acquire, 1)
}
