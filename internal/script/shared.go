package script

import (
	_ "embed" // the scripts
	"strings"
)

// Lua on a master knows no modules: what several scripts share is put into
// their text where they ask for it.

//go:embed handover.lua
var handOverSource string

//go:embed phases.lua
var phasesSource string

// includeHandOver is the line that asks for handover.lua, and phases.lua behind it.
const includeHandOver = "-- include handover.lua\n"

//go:embed intents.lua
var intentsSource string

// includeIntents is the line that asks for intents.lua.
const includeIntents = "-- include intents.lua\n"

// withHandOver is a script with them put in.
func withHandOver(source string) string {
	source = strings.Replace(source, includeIntents, intentsSource, 1)
	return strings.Replace(source, includeHandOver, handOverSource+phasesSource, 1)
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
