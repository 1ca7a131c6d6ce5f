package sim

import (
	"sync"
	"time"
)

// lanes give everything that happens an instant of its own: what happens in lane
// n happens at a number of nanoseconds that is n modulo every, and within a lane one
// after the other. Where two goroutines run at one instant, their order
// is the scheduler's; here they do not.
type lanes struct {
	start            time.Time
	clients, masters int   // for which there are lanes, at the most
	every            int64 // ns; a power of two, and there are no more lanes than that

	mu   sync.Mutex // guards last; a leaf
	last map[int]int64
}

// newLanes are those of so many clients and masters.
func newLanes(clients, masters int) *lanes {
	l := &lanes{start: time.Now(), clients: clients, masters: masters, every: 1, last: make(map[int]int64)}
	for l.every <= int64(l.flushLane(clients-1, masters-1)) {
		l.every *= 2
	}
	return l
}

// now is the time since the start of the run.
func (l *lanes) now() time.Duration { return time.Since(l.start) }

// in is the instant in a lane d from now, or a little later.
func (l *lanes) in(lane int, d time.Duration) time.Duration {
	at := int64(l.now()) + int64(d)
	return time.Duration(at + (int64(lane)-at%l.every+l.every)%l.every)
}

// at takes that instant, or the next one that comes after all that were taken
// in the lane.
func (l *lanes) at(lane int, d time.Duration) time.Duration {
	now, at := int64(l.now()), int64(l.in(lane, d))
	l.mu.Lock()
	defer l.mu.Unlock()
	for at <= now || at <= l.last[lane] {
		at = max(at, l.last[lane]) + l.every
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

func (l *lanes) linkLane(client, master, slot, which int) int {
	return firstLink + ((client*l.masters+master)*maxSlots+slot)*linkLanes + which
}

// flushLane is where a client's flushes to a master are that have gathered.
func (l *lanes) flushLane(client, master int) int {
	return l.linkLane(l.clients, 0, 0, 0) + client*l.masters + master
}

const (
	maxClients = 4
	maxMasters = 5
	maxSlots   = 31
)
