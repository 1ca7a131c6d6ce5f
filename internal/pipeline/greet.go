package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// An identity is what a master says about itself and about our connection.
type identity struct {
	clientID  int64   // CLIENT ID of the connection; 0: unknown
	runID     string  // run_id of INFO server; "": unknown
	hookCalls []*Call // the calls of handshakeCalls, with the replies
}

// isNone reports whether nothing is known: there was no connection, or its master refused both.
func (id identity) isNone() bool { return id.clientID == 0 && id.runID == "" }

// dial connects, shakes hands and asks which process answers. It blocks as connect does.
// previous is the identity of the connection before this one. If the same process still
// serves that connection, it is killed before the new one carries anything. So bytes of ours
// that are still on their way to the master are never executed (invariant S5). It is not
// killed if the run_id differs, or if the new number is lower (the process has gone back in
// time): then the old number may belong to another client. If the number is the same, as behind
// a proxy, it is the new connection's own.
func (p *Pipeline) dial(ctx context.Context, previous identity) (*wire, redis.Conn, identity, error) {
	var id identity
	w, rc, err := p.dialer.connect(ctx, p.loginReported, func(h *handshake) (err error) {
		id, err = p.greet(h, previous)
		return err
	})
	if err != nil {
		return nil, nil, identity{}, err
	}
	return w, rc, id, nil
}

// greet asks which process answers, and loads the scripts that the master lacks. A master keeps a
// script as long as its process runs, no matter which client has loaded it. So nearly every
// connection finds all scripts there. Loading them each time would cost three round trips of
// TCP's slow start.
func (p *Pipeline) greet(h *handshake, previous identity) (identity, error) {
	if p.cfg.DB != 0 {
		h.send(fmt.Sprintf("SELECT %d", p.cfg.DB), "SELECT", p.cfg.DB)
	}
	var id identity
	h.ask("CLIENT", []any{"ID"}, func(reply any) { id.clientID, _ = reply.(int64) })
	h.ask("INFO", []any{"server"}, func(reply any) {
		info, _ := reply.([]byte)
		// Stats shows it, so it must not repeat the password.
		if id.runID = infoField(info, "run_id"); h.secret != "" && strings.Contains(id.runID, h.secret) {
			id.runID = ""
		}
	})
	h.name(p.cfg.ClientName)
	missing := p.cfg.Scripts // unless the master says otherwise
	if names := scriptNames(missing); names != nil {
		h.ask("SCRIPT", names, func(reply any) { missing = missingOf(p.cfg.Scripts, reply) })
	}
	if previous.isNone() {
		id.hookCalls = p.handshakeCalls()
		h.greet(id.hookCalls)
	}
	var ahead error
	h.ask("PING", nil, func(reply any) {
		if reply != "PONG" {
			ahead = protocolError("%.40q is no reply to PING: the replies are not those of the commands", reply)
		}
	})
	sent := time.Now()
	if err := h.run(); err != nil {
		return identity{}, err
	}
	p.roundTrip.CompareAndSwap(0, int64(time.Since(sent))) // until a call measures it more exactly
	if ahead != nil {
		return identity{}, ahead
	}
	if previous.clientID != 0 && previous.clientID < id.clientID && previous.runID != "" && previous.runID == id.runID {
		h.ask("CLIENT", []any{"KILL", "ID", previous.clientID}, nil)
	}
	for _, s := range missing {
		h.ask("SCRIPT", []any{"LOAD", s.Source}, nil)
	}
	if err := h.run(); err != nil {
		return identity{}, err
	}
	h.w.shrink()
	return id, nil
}
