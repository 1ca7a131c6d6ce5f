package simmaster

import (
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// preHook sees every command before miniredis does, those of Lua scripts too, and reports whether
// it has handled the command. It runs on the goroutine that serves the connection.
//
// A client's command arrives here twice: the first time the hook takes the gate's slot, and
// executes the command by dispatching it once more, so that it knows when it is finished; the
// second time (inside) it is answered here or left to miniredis. A script's command arrives within
// that, with miniredis locked, on a peer of its own: it must not wait for anything.
func (m *Master) preHook(p *server.Peer, cmd string, args ...string) bool {
	s := m.sessionOf(p)
	if s == nil {
		return m.answerScript(p, cmd, args)
	}
	if s.inside {
		return m.answer(s, p, cmd, args)
	}
	if !m.gate.enter(s.dead) {
		return true
	}
	m.clock.turn(m.redis)
	counted := cmd
	if n := len(args); cmd == "SET" && n > 0 && args[n-1] == "XX" {
		counted = "SET XX"
	}
	m.mu.Lock()
	m.commands[counted]++
	s.run.executed++
	m.mu.Unlock()

	s.inside = true
	s.run.srv.Dispatch(p, append([]string{cmd}, args...))
	m.gate.leave()
	s.inside = false
	return true
}

// sessionOf returns the session of a peer, or nil for the peer of a script. miniredis does not show
// which connection a peer writes to. So sessionOf makes a new peer write something, and takes the
// session whose Write is called. The peer of a script has a context set; the peer of a
// connection's first command has none.
func (m *Master) sessionOf(p *server.Peer) *session {
	m.mu.Lock()
	s := m.peers[p]
	m.mu.Unlock()
	if s != nil || p.Ctx != nil {
		return s
	}
	m.claim.Lock()
	p.WriteRaw("\n")
	p.Flush()
	s = m.claiming
	m.claiming = nil
	m.claim.Unlock()

	m.mu.Lock()
	m.peers[p] = s
	m.mu.Unlock()
	p.OnDisconnect(func() {
		m.mu.Lock()
		delete(m.peers, p)
		m.mu.Unlock()
	})
	return s
}

// answer executes the commands that miniredis lacks or answers differently.
func (m *Master) answer(s *session, p *server.Peer, cmd string, args []string) bool {
	if m.refuse(p, cmd) {
		return true
	}
	switch cmd {
	case "EVAL", "EVALSHA":
		return s.answerEval(p, cmd, args)
	case "SCRIPT":
		return s.answerScripts(p, args)
	case "CLIENT":
		m.answerClient(s, p, args)
	case "CONFIG":
		answerConfig(p, args)
	case "INFO":
		p.WriteBulk(m.info(s.run, args))
	case "CLUSTER": // miniredis says that it is a cluster, on the port that it does not have here
		p.WriteError("ERR This instance has cluster support disabled")
	case "TIME":
		if len(args) > 0 {
			return false
		}
		m.answerTime(p)
	default:
		return m.answerExpiry(s.run.srv, p, cmd, args) || answerScore(p, cmd, args)
	}
	return true
}

// answerScript is answer for a command of a script, where Redis refuses
// connection and server commands.
func (m *Master) answerScript(p *server.Peer, cmd string, args []string) bool {
	if m.refuse(p, cmd) {
		return true
	}
	m.mu.Lock()
	r := m.run
	m.mu.Unlock()
	switch cmd {
	case "TIME":
		if len(args) > 0 {
			return false
		}
		m.answerTime(p)
	case "INFO":
		if r == nil { // killed while the script runs: its reply goes nowhere
			p.WriteError("ERR the master is shutting down")
			return true
		}
		p.WriteBulk(m.info(r, args))
	case "CLIENT", "CONFIG", "EVAL", "EVALSHA", "SCRIPT", "MULTI", "SELECT", "AUTH":
		p.WriteError("ERR This Redis command is not allowed from script")
	default:
		return r != nil && m.answerExpiry(r.srv, p, cmd, args) || answerScore(p, cmd, args)
	}
	return true
}

// refuse answers a command that is refused.
func (m *Master) refuse(p *server.Peer, cmd string) bool {
	m.mu.Lock()
	text := m.refusal(cmd)
	m.mu.Unlock()
	if text != "" {
		p.WriteError(text)
	}
	return text != ""
}

// answerTime answers with the time at which the client's command started, to the microsecond.
// miniredis only has it in milliseconds, for expiry.
func (m *Master) answerTime(p *server.Peer) {
	micros := m.clock.read.UnixMicro()
	second := int64(time.Second / time.Microsecond)
	p.WriteStrings([]string{strconv.FormatInt(micros/second, 10), strconv.FormatInt(micros%second, 10)})
}

func wrongNumber(p *server.Peer, cmd string) {
	p.WriteError("ERR wrong number of arguments for '" + strings.ToLower(cmd) + "' command")
}
