package script

import (
	_ "embed" // the scripts
	"strings"
)

// Lua on a master has no modules. Code that several scripts share is copied into their
// sources, in place of an include line.

//go:embed handover.lua
var handOverSource string

//go:embed phases.lua
var phasesSource string

// includeHandOver is the line that includes handover.lua, and after it phases.lua.
const includeHandOver = "-- include handover.lua\n"

//go:embed intents.lua
var intentsSource string

// includeIntents is the line that includes intents.lua.
const includeIntents = "-- include intents.lua\n"

// withHandOver returns a script with these lines replaced.
func withHandOver(source string) string {
	source = strings.Replace(source, includeIntents, intentsSource, 1)
	return strings.Replace(source, includeHandOver, handOverSource+phasesSource, 1)
}

//go:embed held.lua
var heldSource string

// includeHeld is the line that includes held.lua.
const includeHeld = "-- include held.lua\n"

// withHeld returns a script with that line replaced.
func withHeld(source string) string {
	return strings.Replace(source, includeHeld, heldSource, 1)
}

//go:embed readers.lua
var readersSource string

// includeReaders is the line that includes readers.lua.
const includeReaders = "-- include readers.lua\n"

// withReaders returns a script with that line replaced.
func withReaders(source string) string {
	return strings.Replace(source, includeReaders, readersSource, 1)
}

//go:embed releaseset.lua
var releaseSetSource string

// ReleaseSet does ReleaseAll, and hands over those locks that are free then.
var ReleaseSet = newScript("releaseset", plain(releaseAllSource)+withHandOver(releaseSetSource))
