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
		"id": 0, "getname": 0, "setname": 1, "setinfo": 2, "no-evict": 1, "no-touch": 1, "kill": -1,
	}[sub]
	switch {
	case !known:
		p.WriteError("ERR unknown subcommand '" + sub + "'. Try CLIENT HELP.")
		return
	case takes >= 0 && len(args) != takes:
		wrongNumber(p, "client|"+sub)
		return
	}
	switch sub {
	case "id":
		p.WriteInt(int(s.id))
	case "getname":
		if p.ClientName == "" {
			p.WriteNull()
			return
		}
		p.WriteBulk(p.ClientName)
	case "setname":
		if !printable(args[0]) {
			p.WriteError("ERR Client names cannot contain spaces, newlines or special characters.")
			return
		}
		p.ClientName = args[0]
		p.WriteOK()
	case "setinfo":
		if !strings.EqualFold(args[0], "LIB-NAME") && !strings.EqualFold(args[0], "LIB-VER") {
			p.WriteError("ERR Unrecognized option '" + args[0] + "'")
			return
		}
		if !printable(args[1]) {
			p.WriteError("ERR " + args[0] + " cannot contain spaces, newlines or special characters.")
			return
		}
		p.WriteOK()
	case "no-evict", "no-touch":
		if !strings.EqualFold(args[0], "ON") && !strings.EqualFold(args[0], "OFF") {
			p.WriteError("ERR syntax error")
			return
		}
		p.WriteOK()
	case "kill":
		m.answerKill(s, p, args)
	}
}

// printable is Redis's rule for names of clients and libraries.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' })
}

// answerKill answers CLIENT KILL ID n [SKIPME yes|no] with the number of
// connections closed. What the victim had sent is not executed any more. The
// caller's own connection, spared unless SKIPME no, ends after the reply.
func (m *Master) answerKill(s *session, p *server.Peer, args []string) {
	if len(args) == 0 || len(args)%2 != 0 {
		p.WriteError("ERR syntax error")
		return
	}
	var id int64
	skipMe := true
	for ; len(args) > 0; args = args[2:] {
		switch strings.ToUpper(args[0]) {
		case "ID":
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n < 1 {
				p.WriteError("ERR client-id should be greater than 0")
				return
			}
			id = n
		case "SKIPME":
			switch strings.ToLower(args[1]) {
			case "yes":
				skipMe = true
			case "no":
				skipMe = false
			default:
				p.WriteError("ERR syntax error")
				return
			}
		default:
			p.WriteError("ERR CLIENT KILL " + strings.ToUpper(args[0]) + " is not simulated")
			return
		}
	}
	if id == 0 {
		p.WriteError("ERR CLIENT KILL without ID is not simulated")
		return
	}
	m.mu.Lock()
	victim := m.sessions[id]
	m.mu.Unlock()
	switch {
	case victim == nil || victim == s && skipMe || victim != s && victim.over():
		p.WriteInt(0)
	case victim == s:
		p.WriteInt(1)
		p.Close()
	default:
		victim.abort()
		p.WriteInt(1)
	}
}

// answerHello answers HELLO [2|3 [AUTH user password] [SETNAME name]]. As in a
// Redis without a password, the default user may give any.
func answerHello(s *session, p *server.Peer, args []string) {
	resp3, name := p.Resp3, ""
	if len(args) > 0 {
		switch args[0] {
		case "2":
			resp3 = false
		case "3":
			resp3 = true
		default:
			if _, err := strconv.Atoi(args[0]); err != nil {
				p.WriteError("ERR Protocol version is not an integer or out of range")
				return
			}
			p.WriteError("NOPROTO unsupported protocol version")
			return
		}
		args = args[1:]
	}
	for len(args) > 0 {
		switch option := strings.ToUpper(args[0]); {
		case option == "AUTH" && len(args) >= 3:
			if args[1] != "default" {
				p.WriteError("WRONGPASS invalid username-password pair or user is disabled.")
				return
			}
			args = args[3:]
		case option == "SETNAME" && len(args) >= 2:
			if !printable(args[1]) {
				p.WriteError("ERR Client names cannot contain spaces, newlines or special characters.")
				return
			}
			name, args = args[1], args[2:]
		default:
			p.WriteError("ERR Syntax error in HELLO option '" + args[0] + "'")
			return
		}
	}
	if name != "" {
		p.ClientName = name
	}
	p.Resp3 = resp3
	proto := 2
	if resp3 {
		proto = 3
	}
	p.WriteMapLen(7)
	p.WriteBulk("server")
	p.WriteBulk("redis")
	p.WriteBulk("version")
	p.WriteBulk(version)
	p.WriteBulk("proto")
	p.WriteInt(proto)
	p.WriteBulk("id")
	p.WriteInt(int(s.id))
	p.WriteBulk("mode")
	p.WriteBulk("standalone")
	p.WriteBulk("role")
	p.WriteBulk("master")
	p.WriteBulk("modules")
	p.WriteLen(0)
}
