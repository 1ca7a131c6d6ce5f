package sim

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

// answerLate delays all replies of all masters for a while. Commands arrive as ever.
func (w *world) answerLate(d *dice) {
	by := d.between(w.p.LateLeast, w.p.LateMost)
	w.setLate(by)
	w.lasting(lateFault, d)
	w.setLate(0)
}

func (w *world) setLate(by time.Duration) {
	w.net.change(func() { w.net.late = by })
	if by > 0 {
		w.net.count(func(s *Stats) { s.Late++ })
	}
	w.trace.note("FAULT", fmt.Sprintf("all replies are late by %v", by))
}

// lateness returns the extra delay of each reply.
func (n *network) lateness() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.late
}

// refuseWrites makes a master answer all commands about locks with an error for a while.
func (w *world) refuseWrites(d *dice) {
	master := d.upTo(len(w.nodes))
	w.setRefusing(master, true)
	w.lasting(refusalFault, d)
	w.setRefusing(master, false)
}

func (w *world) setRefusing(master int, refuses bool) {
	w.net.change(func() { w.net.refuse[master] = refuses })
	what := map[bool]string{true: "refuses what writes", false: "writes again"}[refuses]
	w.trace.note("FAULT", fmt.Sprintf("m%d %s", master, what))
}

// writers are the names of the commands that a master without enough replicas refuses.
var writers = func() map[string]bool {
	m := map[string]bool{"SET": true}
	for _, s := range script.All {
		m[s.Name] = true
	}
	return m
}()

// refuses reports whether a master refuses a command.
func (n *network) refuses(master int, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refuse[master] && writers[name]
}
