package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
)

// emptyAll deletes the data of all masters while the clients live on. It does so at one instant
// or master by master, with a flush or a restart.
func (w *world) emptyAll(d *dice) {
	lane, restarts, pause := faultLane+emptyFault, d.one(2), time.Duration(0)
	if d.one(2) {
		pause = d.between(0, w.p.TTL/4)
	}
	w.net.count(func(s *Stats) { s.Emptied++ })
	for _, n := range w.nodes {
		if restarts {
			n.master.Kill()
			n.forgetScripts()
			err := n.master.Restart(false)
			w.trace.detail("FAULT", fmt.Sprintf("m%d was killed and is back empty, as all are", n.index), err)
		} else {
			n.master.FlushAll()
			w.trace.note("FAULT", fmt.Sprintf("m%d is flushed, as all are", n.index))
		}
		w.sleep(lane, time.Microsecond+pause)
	}
}

// putBack flushes a master, waits until a client has noticed, and restores the marker. An
// operator who loads a backup into the running process does the same.
func (w *world) putBack(d *dice) {
	n := w.nodes[d.upTo(len(w.nodes))]
	conn, err := n.master.Dial(background)
	if err != nil {
		return
	}
	defer conn.Close()
	rc := redis.NewConn(conn, 0, 0)
	marker, err := redis.StringMap(rc.Do("HGETALL", guard.Key))
	if err != nil || len(marker) == 0 {
		return
	}
	n.master.FlushAll()
	w.trace.note("FAULT", fmt.Sprintf("m%d is flushed", n.index))
	for range 1000 {
		if w.over.Load() || slices.Contains(n.master.Keys(), guard.Sighting) {
			break
		}
		w.sleep(faultLane+putBackFault, w.p.TTL/100)
	}
	if !slices.Contains(n.master.Keys(), guard.Sighting) {
		return // no client can know of the loss
	}
	w.sleep(faultLane+putBackFault, d.between(time.Microsecond, w.p.TTL/4))
	args := []any{guard.Key}
	for _, name := range slices.Sorted(maps.Keys(marker)) {
		args = append(args, name, marker[name])
	}
	_, _ = rc.Do("DEL", guard.Key)
	_, err = rc.Do("HSET", args...)
	w.net.count(func(s *Stats) { s.PutBack++ })
	w.trace.detail("FAULT", fmt.Sprintf("m%d has its marker back", n.index), err)
}
