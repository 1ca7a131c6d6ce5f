package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// faults starts goroutines that inject faults until the workers are done.
func (w *world) faults(wg *sync.WaitGroup) {
	p := w.p
	for i, f := range []struct {
		every time.Duration
		do    func(d *dice)
	}{
		{p.Partitions, w.partition},
		{p.Freezes, w.freeze},
		{p.Pauses, w.pause},
		{p.Restarts, w.restart},
		{p.MasterSteps, w.step},
		{p.Sides, w.changeSides},
		{p.ClientSteps, w.stepClient},
		{p.Ambushes, w.ambush},
		{p.Emptied, w.emptyAll},
		{p.PutBack, w.putBack},
		{p.Late, w.answerLate},
		{p.Refusals, w.refuseWrites},
		{p.Blocks, w.blockListeners},
		{p.Closes, w.closeClient},
		{p.Settings, w.changeSettings},
	} {
		if f.every == 0 {
			continue
		}
		wg.Go(func() {
			for n := uint64(0); ; n++ {
				d := roll(w.seed, chance.HashText("fault"), uint64(i), n)
				w.sleep(faultLane+i, d.between(0, 2*f.every))
				if w.over.Load() {
					return
				}
				f.do(d)
			}
		})
	}
}

// Indexes of faults in the list of faults, where code needs them.
const (
	ambushFault = 7 + iota
	emptyFault
	putBackFault
	lateFault
	refusalFault
	blockFault
	closeFault
	settingsFault
)

// setClocks undoes what changeSides has left of offsets.
func (w *world) setClocks() {
	for _, n := range w.nodes {
		if w.p.Sides != 0 {
			w.stepBy(n, -n.offset)
		}
	}
}

// lasting sleeps for the duration of a fault.
func (w *world) lasting(fault int, d *dice) {
	w.sleep(faultLane+fault, d.between(time.Millisecond, w.p.BlockedFor))
}

// partition cuts one client, or all of them, off from a master, in one direction or in both.
func (w *world) partition(d *dice) {
	master := d.upTo(len(w.nodes))
	clients := []int{d.upTo(w.p.Clients)}
	if d.one(3) {
		clients = w.everybody()
	}
	dirs := [][]direction{{up}, {down}, {up, down}}[d.upTo(3)]
	var paths []path
	for _, c := range clients {
		for _, dir := range dirs {
			paths = append(paths, path{c, master, dir})
		}
	}
	w.net.block(paths, true)
	what := [...]string{"commands", "replies", "both ways"}[d.n%3]
	w.trace.note("FAULT", fmt.Sprintf("clients %v are cut off from m%d, %v", clients, master, what))
	w.lasting(0, d)
	w.net.block(paths, false)
	w.trace.note("FAULT", fmt.Sprintf("m%d can be reached again", master))
}

// everybody returns the indexes of all clients.
func (w *world) everybody() (all []int) {
	for i := range w.clients {
		all = append(all, i)
	}
	return all
}

func (w *world) freeze(d *dice) {
	master := d.upTo(len(w.nodes))
	w.net.change(func() { w.net.frozen[master] = true; w.net.stats.Frozen++ })
	if w.tcp {
		w.nodes[master].master.Freeze()
		defer w.nodes[master].master.Thaw()
	}
	w.trace.note("FAULT", fmt.Sprintf("m%d is frozen", master))
	w.lasting(1, d)
	w.net.change(func() { delete(w.net.frozen, master) })
	w.trace.note("FAULT", fmt.Sprintf("m%d goes on", master))
}

// pause stops a client: messages to it and from it wait.
func (w *world) pause(d *dice) {
	client := d.upTo(w.p.Clients)
	w.setPaused(client, true)
	w.lasting(2, d)
	w.setPaused(client, false)
}

func (w *world) setPaused(client int, paused bool) {
	w.net.change(func() {
		if paused {
			w.net.stats.Paused++
		}
		w.net.paused[client] = paused
	})
	w.trace.note("FAULT", fmt.Sprintf("c%d is %s", client, map[bool]string{true: "stopped", false: "going on"}[paused]))
}

func (n *network) isPaused(client int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused[client]
}

// restart kills a master, or some, and starts them again.
func (w *world) restart(d *dice) {
	first, count := d.upTo(len(w.nodes)), 1
	if w.p.Together && d.one(2) {
		count = 1 + d.upTo(len(w.nodes)-1)
	}
	loss := pick(d, w.p.Loses)
	down := d.between(0, w.p.DownFor)
	if loss != Nothing && w.p.DelayEmpty {
		// This is longer than any key of this master lives, by any clock.
		down += w.p.MaxTTL + w.p.MaxTTL/50
	}
	var nodes []*node
	for i := range count {
		nodes = append(nodes, w.nodes[(first+i)%len(w.nodes)])
	}
	if loss == Empty && !w.marked(nodes) {
		loss = Nothing
	}
	for _, n := range nodes {
		n.master.Kill()
		w.trace.note("FAULT", fmt.Sprintf("m%d is killed", n.index))
		w.net.count(func(s *Stats) { s.Restarts++ })
		w.sleep(faultLane+3, time.Microsecond)
	}
	w.sleep(faultLane+3, down)
	for _, n := range nodes {
		n.forgetScripts()
		err := n.master.Restart(loss != Empty)
		w.trace.detail("FAULT", fmt.Sprintf("m%d is back, %s", n.index, loss), err)
		if loss == Tail {
			w.forget(n, func(string) bool { return d.one(2) })
		}
		w.sleep(faultLane+3, time.Microsecond)
	}
}

// marked reports whether a master outside of without still has its marker. If all masters lose
// everything at once, the fleet looks new, and the standard guard does not claim to notice.
func (w *world) marked(without []*node) bool {
	return w.p.Guard == redlock.GuardOff || slices.ContainsFunc(w.nodes, func(n *node) bool {
		return !slices.Contains(without, n) && slices.Contains(n.master.Keys(), guard.Key)
	})
}

// forget deletes some keys, as if the end of the append-only file was lost. It keeps the
// marker, which was written long before.
func (w *world) forget(n *node, which func(key string) bool) {
	conn, err := n.master.Dial(background)
	if err != nil {
		return
	}
	defer conn.Close()
	rc := redis.NewConn(conn, 0, 0)
	for _, key := range n.master.Keys() {
		if key != "redquorum:marker" && which(key) {
			_, err := rc.Do("DEL", key)
			w.trace.detail("FAULT", fmt.Sprintf("m%d has lost %s", n.index, key), err)
		}
	}
}

// step sets a master's clock forward or back, and with StepBack undoes it later.
func (w *world) step(d *dice) {
	n := w.nodes[d.upTo(w.p.Masters)]
	by := d.between(-w.p.StepMost, w.p.StepMost)
	w.stepBy(n, by)
	if w.p.StepBack == 0 {
		return
	}
	w.sleep(faultLane+4, d.between(0, w.p.StepBack))
	w.stepBy(n, -by)
}

// changeSides sets the clocks of one master or of all. They differ from the clients' clocks by
// as much as strict admits for one client's TTL, to one side or the other, or not at all.
func (w *world) changeSides(d *dice) {
	far := guard.Skew(w.clients[d.upTo(len(w.clients))].ttl()) + w.p.ClientOffset - d.between(0, 2*sideMargin)
	to := time.Duration(d.upTo(3)-1) * far
	only := d.upTo(3 * w.p.Masters)
	for _, n := range w.nodes {
		if only >= w.p.Masters || only == n.index {
			w.stepBy(n, to-n.offset)
			w.sleep(faultLane+5, time.Microsecond)
		}
	}
}

// sideMargin is the most by which drift changes an offset within a run.
const sideMargin = 5 * time.Millisecond

// stepClient steps a client's wall clock.
func (w *world) stepClient(d *dice) {
	c := w.clients[d.upTo(len(w.clients))]
	to := w.clientOffset(d, d.upTo(2))
	by := to - time.Duration(c.clock.wall.Swap(int64(to)))
	w.net.count(func(s *Stats) { s.Step++ })
	w.trace.note("FAULT", fmt.Sprintf("%s's clock is stepped by %v", c.name, by))
}

func (w *world) stepBy(n *node, by time.Duration) {
	n.offset += by
	n.master.SetClockOffset(n.offset)
	w.net.count(func(s *Stats) { s.Step++ })
	w.trace.note("FAULT", fmt.Sprintf("m%d's clock is stepped by %v", n.index, by))
}
