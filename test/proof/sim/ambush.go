package sim

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// ambush plays, at random times, one course of events in which a master that has forgotten a
// lock might keep it alive. The exhaustive model found it (docs/project/verification.md);
// random faults hardly ever produce it.
//
// One client, the holder, is granted the lock by two masters of three. The third grants it to
// the other client, whose attempt still waits for one of the first two. Then the third is
// restarted and forgets its grant, and the holder sets the lock there again. From then on the
// holder can extend only there and at one of the first two. At the other of those the lock
// expires, which completes the attempt.
func (w *world) ambush(d *dice) {
	holder := d.upTo(w.p.Clients)
	other := (holder + 1 + d.upTo(w.p.Clients-1)) % w.p.Clients
	first := d.upTo(w.p.Masters)
	forgets, expires := first, (first+1+d.upTo(w.p.Masters-1))%w.p.Masters

	lane := faultLane + ambushFault
	held := path{holder, forgets, up}
	w.block(held, true)
	defer w.block(held, false)
	granted, ok := w.awaitGrant(lane, holder)
	if !ok {
		return
	}
	ttl := w.p.TTL
	w.sleep(lane, d.between(ttl/10, ttl/5))
	waits := path{other, expires, up}
	w.block(waits, true)
	defer w.block(waits, false)
	w.sleep(lane, d.between(ttl/20, ttl/10))
	w.refuse(holder, expires, true)
	defer w.refuse(holder, expires, false)
	n := w.nodes[forgets]
	n.master.Kill()
	w.net.count(func(s *Stats) { s.Restarts++ })
	n.forgetScripts()
	err := n.master.Restart(true)
	w.forget(n, func(string) bool { return true })
	w.trace.detail("FAULT", fmt.Sprintf("m%d was killed and is back without a lock", n.index), err)
	w.block(held, false)
	w.sleep(lane, granted+ttl+ttl/100+d.between(0, ttl/50)-w.now())
}

// awaitGrant waits until a client has been granted a lock, and returns the time.
func (w *world) awaitGrant(lane, client int) (at time.Duration, ok bool) {
	for began := w.now(); w.now()-began < 4*w.p.TTL && !w.over.Load(); w.sleep(lane, time.Millisecond) {
		for _, a := range w.clients[client].holds() {
			if a.hold.Granted > began {
				return a.hold.Granted, true
			}
		}
	}
	return 0, false
}

// block stops one path, or delivers what the path held up.
func (w *world) block(p path, blocked bool) {
	w.net.mu.Lock()
	was := w.net.blocked[p]
	w.net.mu.Unlock()
	if was == blocked {
		return
	}
	w.net.block([]path{p}, blocked)
	state := map[bool]string{true: "held up", false: "let go"}[blocked]
	w.trace.note("FAULT", fmt.Sprintf("commands of c%d to m%d are %s", p.client, p.master, state))
}

// refuse ends a client's connections to a master, and makes it refuse further ones.
func (w *world) refuse(client, master int, refused bool) {
	n := w.net
	n.mu.Lock()
	n.refused[[2]int{client, master}] = refused
	links := slices.Clone(n.links)
	n.mu.Unlock()
	verb := map[bool]string{true: "refuses", false: "accepts"}[refused]
	w.trace.note("FAULT", fmt.Sprintf("m%d %s c%d", master, verb, client))
	for _, l := range links {
		if refused && l.client == client && l.node.index == master {
			l.breakOff()
		}
	}
}

// breakOff ends the connection from the master's side.
func (l *link) breakOff() {
	l.mu.Lock()
	over := l.closed || l.severed
	l.muted, l.severed = true, true
	l.mu.Unlock()
	if over {
		return
	}
	l.hangUp()
	l.send(down, item{ends: true}, 100*time.Microsecond)
}

// refusal returns why a connection may not be made, or nil.
func (n *network) refusal(client, master int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refused[[2]int{client, master}] {
		return syscall.ECONNREFUSED
	}
	return nil
}
