//go:build !race

package integration

import "time"

// starvedSlice is how long a starved process runs at a time.
const starvedSlice = 2 * time.Millisecond
