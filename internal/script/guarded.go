package script

import _ "embed" // the scripts

//go:embed guarded.lua
var guardedSource string

//go:embed guarded_free.lua
var guardedFreeSource string

//go:embed guarded_acquire.lua
var guardedAcquireSource string

//go:embed guarded_extend.lua
var guardedExtendSource string

//go:embed guarded_reader_acquire.lua
var guardedReaderAcquireSource string

//go:embed guarded_adopt.lua
var guardedAdoptSource string

//go:embed guarded_release.lua
var guardedReleaseSource string

//go:embed raise.lua
var raiseSource string

//go:embed raise_known.lua
var raiseKnownSource string

// The scripts for locks with a fencing token and for strict, and those that adopt any lock. Scripts
// that grant or prolong contain guarded.lua, which says what they have in common. Where a plain
// script does the rest, they contain its source, so that there is only one copy of it.
var (
	GuardedAcquire   = newScript("guarded_acquire", guardedFreeSource+guardedSource+guardedAcquireSource)
	GuardedExtend    = newScript("guarded_extend", guardedSource+forWriter+plain(extendSource)+guardedExtendSource)
	GuardedExtendAll = newScript("guarded_extendall",
		guardedSource+forWriter+plain(extendAllSource)+guardedExtendSource)
	GuardedReaderAcquire = newScript("guarded_reader_acquire",
		guardedSource+plain(withReaders(readerAcquireSource))+guardedReaderAcquireSource)
	GuardedReaderExtend = newScript("guarded_reader_extend",
		guardedSource+forReader+plain(withReaders(readerExtendSource))+guardedExtendSource)
	GuardedAdopt      = newScript("guarded_adopt", guardedSource+guardedAdoptSource)
	GuardedRelease    = newScript("guarded_release", guardedReleaseSource+releaseSource)
	GuardedReleaseAll = newScript("guarded_releaseall", guardedReleaseSource+releaseAllSource)
	GuardedReleaseSet = newScript("guarded_releaseset",
		guardedReleaseSource+plain(releaseAllSource)+withHandOver(releaseSetSource))
	GuardedReaderRelease = newScript("guarded_reader_release", guardedReleaseSource+withReaders(readerReleaseSource))
	GuardedQueue         = newScript("guarded_queue", guardedSource+withHandOver(withHeld(queueSource)))
	Raise                = newScript("raise", raiseSource)
	RaiseKnown           = newScript("raise_known", raiseKnownSource)
)

// guarded has all of them.
var guarded = []*Script{
	GuardedAcquire, GuardedExtend, GuardedExtendAll, GuardedReaderAcquire, GuardedReaderExtend,
	GuardedAdopt, GuardedRelease, GuardedReleaseAll, GuardedReleaseSet, GuardedReaderRelease,
	GuardedQueue, Raise, RaiseKnown,
}

const (
	forWriter = "local reading = false\n"
	forReader = "local reading = true\n"
)

// plain wraps a script's source as the function plain, for use in another script.
func plain(source string) string { return "local function plain(KEYS, ARGV)\n" + source + "end\n" }
