package faults

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// A pulse tells a machine that stands still from a library that waits. Beside
// its work each client pings every master on connections of its own. Where a
// ping was due and its answer had not come for slowPulse, from a master that
// nothing is done to, the machine was too busy to blame anybody: operations of
// that client in that time are excused, and counted.
const (
	pulseEvery = 50 * time.Millisecond
	slowPulse  = commandTimeout / 4
)

// pulse pings one master until the client stops.
func (c *client) pulse(master int) {
	var conn redis.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	for due := now(); c.ctx.Err() == nil; due = max(due.add(pulseEvery), now()) {
		if wait := due.sub(now()); wait > 0 {
			time.Sleep(wait)
		}
		if conn == nil {
			var err error
			if conn, err = redis.DialURL(c.spec.URLs[master], redis.DialConnectTimeout(waitBound), redis.DialReadTimeout(waitBound), redis.DialWriteTimeout(waitBound)); err != nil {
				continue // it is down: that is not slow
			}
		}
		_, err := conn.Do("PING")
		if end := now(); end.sub(due) > slowPulse {
			c.tell(event{Kind: eventSlow, Worker: master, At: due, End: end})
		}
		if err != nil {
			_ = conn.Close()
			conn = nil
		}
	}
}

// slow is a pulse that came late.
type slow struct {
	client, master int
	from, to       instant
}

// excused says whether the machine stood still during an operation, as its own
// client saw it, at masters that nothing was done to. The history must not be
// locked.
func (r *run) excused(d done) bool {
	r.history.mu.Lock()
	defer r.history.mu.Unlock()
	for _, s := range r.history.slow {
		if s.client == d.client && !r.troubled[s.master] && s.from < d.End && s.to > d.At {
			return true
		}
	}
	return false
}

// settleExcuses drops the operations that are excused, and counts them.
func (r *run) settleExcuses(ops []done) []done {
	var rest []done
	for _, d := range ops {
		if (d.Failed != "" || d.took() > slowPulse) && r.excused(d) {
			r.standstills[d.End] = true
			continue
		}
		rest = append(rest, d)
	}
	return rest
}
