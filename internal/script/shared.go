package script

import (
	_ "embed" // the scripts
	"strings"
)

// Lua on a master knows no modules: what several scripts share is put into
// their text where they ask for it.

//go:embed handover.lua
var handOverSource string

// includeHandOver is the line that asks for handover.lua.
const includeHandOver = "-- include handover.lua\n"

// withHandOver is a script with that put in.
func withHandOver(source string) string {
	return strings.Replace(source, includeHandOver, handOverSource, 1)
}

//go:embed readers.lua
var readersSource string

// includeReaders is the line that asks for readers.lua.
const includeReaders = "-- include readers.lua\n"

// withReaders is a script with that put in.
func withReaders(source string) string {
	return strings.Replace(source, includeReaders, readersSource, 1)
}

//go:embed queueslots.lua
var queueSlotsSource string

//go:embed releaseset.lua
var releaseSetSource string

var (
	// QueueSlots is what Queue is, for several locks of which one is wanted.
	QueueSlots = newScript("queueslots", withHandOver(queueSlotsSource))
	// ReleaseSet is ReleaseAll, and hands the locks over.
	ReleaseSet = newScript("releaseset", plain(releaseAllSource)+withHandOver(releaseSetSource))
)
