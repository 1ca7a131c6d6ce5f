//go:build race

package integration

import "time"

// starvedSlice is how long a starved process runs at a time. Under the race detector it needs
// several times as long for each step.
const starvedSlice = 12 * time.Millisecond
