package sim

import (
	"sync"
	"time"
)

// lanes give everything that happens an instant of its own: what happens in lane
// n happens at a number of nanoseconds that is n modulo laneStep, and within a
// lane one after the other. Where two goroutines run at one instant, their order
// is the scheduler's; here they do not.
type lanes struct {
	start time.Time

	mu   sync.Mutex // guards last; a leaf
	last map[int]int64
}

const laneStep = 2048 // ns; also the number of lanes

func newLanes() *lanes { return &lanes{start: time.Now(), last: make(map[int]int64)} }

// now is the time since the start of the run.
func (l *lanes) now() time.Duration { return time.Since(l.start) }

// in is the instant in a lane d from now, or a little later.
func (l *lanes) in(lane int, d time.Duration) time.Duration {
	at := int64(l.now()) + int64(d)
	return time.Duration(at + (int64(lane)-at%laneStep+laneStep)%laneStep)
}

// at takes that instant, or the next one that comes after all that were taken
// in the lane.
func (l *lanes) at(lane int, d time.Duration) time.Duration {
	now, at := int64(l.now()), int64(l.in(lane, d))
	l.mu.Lock()
	defer l.mu.Unlock()
	for at <= now || at <= l.last[lane] {
		at = max(at, l.last[lane]) + laneStep
	}
	l.last[lane] = at
	return time.Duration(at)
}

// after runs f at an instant of the lane, d from now.
func (l *lanes) after(lane int, d time.Duration, f func()) {
	time.AfterFunc(l.at(lane, d)-l.now(), f)
}

// sleep waits for an instant of the lane, d from now.
func (l *lanes) sleep(lane int, d time.Duration) {
	time.Sleep(l.at(lane, d) - l.now())
}

// Numbers of lanes. Of a client's connections to a master, so many at a time have
// lanes of their own (see network.slot).
const (
	linkLanes   = 3 // up, down, ghosts
	faultLane   = 1 // and those that follow
	sampleLane  = 15
	workerLanes = 16
	firstLink   = workerLanes + 128
)

func workerLane(client, worker int) int { return workerLanes + client*8 + worker }

// deadlineLane is where a worker's contexts end, which is no event of its lane.
func deadlineLane(client, worker int) int { return workerLane(client, worker) + 64 }

func linkLane(client, master, slot, which int) int {
	return firstLink + ((client*maxMasters+master)*maxSlots+slot)*linkLanes + which
}

// flushLane is where a client's flushes to a master are that have gathered.
func flushLane(client, master int) int {
	return linkLane(maxClients, 0, 0, 0) + client*maxMasters + master
}

const (
	maxClients = 4
	maxMasters = 5
	maxSlots   = 31
)
