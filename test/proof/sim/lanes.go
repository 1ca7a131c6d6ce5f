package sim

import (
	"sync"
	"time"
)

// lanes give each event an instant of its own. Events of lane n happen at instants that are n
// modulo every in nanoseconds, one after another. If two goroutines ran at one instant, the
// scheduler would choose their order.
type lanes struct {
	start            time.Time
	clients, masters int   // the most for which there are lanes
	every            int64 // ns; a power of two, and more than the highest lane

	mu   sync.Mutex // guards last; a leaf
	last map[int]int64
}

// newLanes makes the lanes of so many clients and masters.
func newLanes(clients, masters int) *lanes {
	l := &lanes{start: time.Now(), clients: clients, masters: masters, every: 1, last: make(map[int]int64)}
	for l.every <= int64(l.flushLane(clients-1, masters-1)) {
		l.every *= 2
	}
	return l
}

func (l *lanes) now() time.Duration { return time.Since(l.start) }

// in returns the instant of a lane that is d from now, or a little later.
func (l *lanes) in(lane int, d time.Duration) time.Duration {
	at := int64(l.now()) + int64(d)
	return time.Duration(at + (int64(lane)-at%l.every+l.every)%l.every)
}

// at reserves that instant, or the next one after all that the lane has reserved.
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

// Numbers of lanes. Up to maxSlots connections of a client to a master have lanes of their own
// at a time (see network.takeSlot).
const (
	linkLanes   = 3 // up, down, ghosts
	faultLane   = 1 // and those that follow
	sampleLane  = 15
	workerLanes = 16
	firstLink   = workerLanes + 128
)

func workerLane(client, worker int) int { return workerLanes + client*8 + worker }

// deadlineLane is the lane in which a worker's contexts end, apart from its other events.
func deadlineLane(client, worker int) int { return workerLane(client, worker) + 64 }

func (l *lanes) linkLane(client, master, slot, which int) int {
	return firstLink + ((client*l.masters+master)*maxSlots+slot)*linkLanes + which
}

// flushLane is the lane of a client's gathered flushes to a master.
func (l *lanes) flushLane(client, master int) int {
	return l.linkLane(l.clients, 0, 0, 0) + client*l.masters + master
}

const (
	maxClients = 4
	maxMasters = 5
	maxSlots   = 31
)
