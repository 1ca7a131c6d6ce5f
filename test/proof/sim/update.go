package sim

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// update is what a careful holder does: it reads, makes sure that the lock will outlast the
// write, and writes. Now and then it is stopped in between, which no check can notice.
func (k *worker) update(d *dice, l *redlock.Lock) {
	fence := l.Fence()
	if k.w.p.Unfenced {
		fence = 0
	}
	const way = 2 * time.Millisecond // to the resource, at the most
	k.sleep(d.between(0, way))
	set, err := k.w.set.Read(fence)
	k.w.trace.detail(k.name, fmt.Sprintf("reads %d elements with fence %d", len(set), l.Fence()), err)
	if err != nil {
		return
	}
	k.sleep(d.between(0, k.w.p.TTL/4))
	if l.Context().Err() != nil || k.c.clock.real(l.Remaining()) <= way {
		return
	}
	if d.one(k.w.p.StopOneIn) {
		k.w.trace.note(k.name, "is stopped before it writes")
		k.w.setPaused(k.c.index, true)
		k.w.sleep(k.lane, d.between(k.w.p.TTL, 3*k.w.p.TTL))
		k.w.setPaused(k.c.index, false)
	}
	k.sleep(d.between(0, way-10*time.Microsecond))
	element := fmt.Sprintf("%s@%d", k.name, k.w.now())
	err = k.w.set.Write(fence, append(set, element), element)
	k.w.trace.detail(k.name, fmt.Sprintf("writes %d elements with fence %d", len(set)+1, l.Fence()), err)
}
