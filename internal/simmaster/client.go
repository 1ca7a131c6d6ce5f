package simmaster

import (
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// answerClient answers CLIENT and its subcommands.
func (m *Master) answerClient(s *session, p *server.Peer, args []string) {
	if len(args) == 0 {
		wrongNumber(p, "client")
		return
	}
	sub, args := strings.ToLower(args[0]), args[1:]
	takes, known := map[string]int{
		"id": 0, "setname": 1, "kill": 2,
	}[sub]
	switch {
	case !known:
		p.WriteError("ERR unknown subcommand '" + sub + "'. Try CLIENT HELP.")
		return
	case len(args) != takes:
		wrongNumber(p, "client|"+sub)
		return
	}
	switch sub {
	case "id":
		p.WriteInt(int(s.id))
	case "setname":
		p.ClientName = args[0]
		p.WriteOK()
	case "kill":
		m.answerKill(s, p, args)
	}
}

// answerKill answers CLIENT KILL ID n with the number of connections that it closes. It never
// closes the caller's own. Commands that the victim has sent are not executed any more.
func (m *Master) answerKill(s *session, p *server.Peer, args []string) {
	if !strings.EqualFold(args[0], "ID") {
		p.WriteError("ERR CLIENT KILL " + strings.ToUpper(args[0]) + " is not simulated")
		return
	}
	id, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || id < 1 {
		p.WriteError("ERR client-id should be greater than 0")
		return
	}
	m.mu.Lock()
	victim := m.sessions[id]
	m.mu.Unlock()
	if victim == nil || victim == s || victim.over() {
		p.WriteInt(0)
		return
	}
	victim.abort()
	p.WriteInt(1)
}
