package script

import _ "embed" // the scripts

//go:embed acquireall.lua
var acquireAllSource string

//go:embed extendall.lua
var extendAllSource string

//go:embed verifyall.lua
var verifyAllSource string

//go:embed releaseall.lua
var releaseAllSource string

//go:embed holderamong.lua
var holderAmongSource string

// The scripts for several keys.
var (
	AcquireAll  = newScript("acquireall", acquireAllSource)
	ExtendAll   = newScript("extendall", extendAllSource)
	VerifyAll   = newScript("verifyall", verifyAllSource)
	ReleaseAll  = newScript("releaseall", releaseAllSource)
	HolderAmong = newScript("holderamong", withHeld(holderAmongSource))
)
