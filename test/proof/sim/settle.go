package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// realPatience is how long a client tries, in real time, to get a lock that nobody holds. If it
// takes longer, something is broken, not slow.
const realPatience = 20 * time.Second

// settle checks the end state, when there are no more faults: no released key is left, and
// every client gets the locks.
func (w *world) settle() {
	p := w.p
	if !w.tcp {
		w.sleep(sampleLane, time.Second)
	}
	if p.Litter {
		w.litter()
	}
	// Abandoned leases expire, and masters may vote again.
	w.sleep(sampleLane, 2*p.MaxTTL)
	if !w.tcp {
		w.sleep(sampleLane, 2*time.Second)
	}
	if p.Emptied > 0 { // an idle client notices a loss only when it looks
		w.sleep(sampleLane, 5*time.Second)
	}
	for _, c := range w.clients {
		k := w.worker(c, 0)
		for key := range p.Keys {
			var l *redlock.Lock
			var err error
			asked := w.now()
			// Over TCP a call may fail because the machine stands still, which is not the
			// library's fault.
			for patience := asked + realPatience; ; asked = w.now() {
				ctx, cancel := k.within(2*time.Second + w.slack())
				l, err = c.lock().Lock(ctx, fmt.Sprintf("k%d", key))
				cancel()
				if err == nil || !w.tcp || w.now() > patience {
					break
				}
			}
			if err != nil {
				text := fmt.Sprintf("%s cannot get k%d after all has calmed down: %v", c.name, key, err)
				w.violated(history.Stuck, text)
				continue
			}
			k.unlock(c, c.granted(l, Wait, 9, false, asked))
		}
		if p.Gather > 0 && p.Keys > 1 {
			w.giveBackTogether(c)
		}
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
