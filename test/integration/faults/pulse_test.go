package faults

import (
	"io"
	"net"
	"net/url"
	"time"
)

// A pulse tells a machine that stands still from a library that waits. Beside its work each client
// pings every master on connections of its own. If a master without a fault does not answer a ping
// for slowPulse, the machine was too busy. Operations of that client in that time are excused, and
// counted.
const (
	pulseEvery = 50 * time.Millisecond
	slowPulse  = commandTimeout / 4
)

// pulse pings one master until the client stops. It reads what it expects and no
// more, so that whatever a master says can do it no harm.
func (c *client) pulse(master int) {
	const ping, pong = "PING\r\n", "+PONG\r\n"
	u, err := url.Parse(c.spec.URLs[master])
	if err != nil {
		panic(err) // the library has accepted it
	}
	var conn net.Conn
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
			if conn, err = net.DialTimeout("tcp", u.Host, waitBound); err != nil {
				conn = nil
				continue // it is down: that is not slow
			}
		}
		_ = conn.SetDeadline(time.Now().Add(waitBound))
		answer := make([]byte, len(pong))
		_, err := io.WriteString(conn, ping)
		if err == nil {
			_, err = io.ReadFull(conn, answer)
		}
		if end := now(); end.sub(due) > slowPulse {
			c.report(event{Kind: eventSlow, Worker: master, At: due, End: end})
		}
		if err != nil || string(answer) != pong {
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

// excused reports whether the machine stood still during an operation, by the pings of its own
// client to masters without a fault. The history must not be locked.
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
