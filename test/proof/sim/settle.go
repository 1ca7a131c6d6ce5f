package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/test/proof/history"
)

// settle looks whether all is in order when nothing goes wrong any more: nothing
// is left of what was given back, and every client gets the locks.
func (w *world) settle() {
	p := w.p
	w.sleep(sampleLane, time.Second)
	if p.Litter {
		w.litter()
	}
	// What was abandoned runs out, and masters get their votes back.
	w.sleep(sampleLane, 2*p.MaxTTL+2*time.Second)
	if p.Emptied > 0 { // a client that does nothing finds that out when it looks
		w.sleep(sampleLane, 5*time.Second)
	}
	for _, c := range w.clients {
		k := &worker{w: w, c: c, lane: workerLane(c.index, 0), name: c.name}
		for key := range p.Keys {
			ctx, cancel := k.within(2 * time.Second)
			asked := w.now()
			l, err := c.locker.Lock(ctx, fmt.Sprintf("k%d", key))
			cancel()
			if w.move != nil && w.move.shutOut(c) {
				w.move.mustBeRefused(c, err)
				continue
			}
			if err != nil {
				w.violated(history.Stuck, fmt.Sprintf("%s cannot get k%d after all has calmed down: %v", c.name, key, err))
				continue
			}
			k.unlock(c, c.granted(l, Wait, 9, false, asked))
		}
		if p.Gather > 0 && p.Keys > 1 {
			w.giveBackTogether(c)
		}
	}
	if w.move != nil {
		w.sleep(sampleLane, 20*time.Millisecond) // until the last master has heard, and no TTL is over
		w.litter()
	}
}

// litter looks for keys of locks that nobody holds.
func (w *world) litter() {
	held := make(map[string]bool)
	for _, c := range w.clients {
		for _, a := range c.holds() {
			held[a.hold.Token] = true
		}
	}
	for _, n := range w.nodes {
		for _, key := range n.master.Keys() {
			value, _ := n.master.Get(key)
			if !strings.HasPrefix(key, "redquorum:") && !held[value] {
				w.violated(history.Litter, fmt.Sprintf("m%d has %s = %s", n.index, key, value))
			}
		}
	}
}
