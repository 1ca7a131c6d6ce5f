package redistest

import "time"

// These bound how long each call may wait. A loaded machine with two cores needs a fraction of
// each. A call that reaches one has found a server that is broken, not slow.
const (
	startBound   = 10 * time.Second // from the start of the process until it answers
	stopBound    = 5 * time.Second  // from SIGTERM until SIGKILL
	killBound    = 10 * time.Second // from SIGKILL until the process is reaped
	freezeBound  = 5 * time.Second  // from SIGSTOP until every thread has stopped
	doBound      = 3 * time.Second  // one Do: dial, handshake, AUTH, command, reply
	probeBound   = time.Second      // one probe of a server that is starting
	compileBound = 60 * time.Second // the C compiler, for Config.MovableClock
	versionBound = 5 * time.Second  // redis-server --version
)
