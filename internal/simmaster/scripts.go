package simmaster

import (
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// answerEval executes EVAL and EVALSHA, and reports whether it did. If the arguments are wrong it
// does not: miniredis answers those as Redis does.
func (s *session) answerEval(p *server.Peer, cmd string, args []string) bool {
	if len(args) < 2 {
		return false
	}
	keys, ok := integer(args[1])
	if !ok || keys < 0 || keys > int64(len(args)-2) {
		return cmd == "EVALSHA" && s.answerUnknown(p, args[0])
	}
	source, scripts := args[0], s.run.lua.scripts
	switch cmd {
	case "EVALSHA":
		if s.answerUnknown(p, args[0]) {
			return true
		}
		source = scripts[strings.ToLower(args[0])]
	default:
		scripts[shaOf(source)] = source // known from now on, also if it fails
	}
	if p.Ctx == nil { // a connection's first command: miniredis has no state for it yet
		s.silently(p, "PING")
	}
	s.run.lua.run(p, source, args[2:2+keys], args[2+keys:])
	return true
}

// answerUnknown refuses a script that is not loaded, and reports whether it did.
func (s *session) answerUnknown(p *server.Peer, sha string) bool {
	if _, loaded := s.run.lua.scripts[strings.ToLower(sha)]; loaded {
		return false
	}
	p.WriteError("NOSCRIPT No matching script. Please use EVAL.")
	return true
}

// answerScripts executes SCRIPT LOAD, EXISTS and FLUSH, and reports whether it did.
func (s *session) answerScripts(p *server.Peer, args []string) bool {
	if len(args) == 0 {
		return false
	}
	in := s.run.lua
	switch sub := strings.ToUpper(args[0]); {
	case sub == "LOAD" && len(args) == 2:
		sha, err := in.load(args[1])
		if err != nil {
			p.WriteError(doesNotRun(err))
			return true
		}
		p.WriteBulk(sha)
	case sub == "EXISTS" && len(args) > 1:
		p.WriteLen(len(args) - 1)
		for _, sha := range args[1:] {
			n := 0
			if _, loaded := in.scripts[strings.ToLower(sha)]; loaded {
				n = 1
			}
			p.WriteInt(n)
		}
	case sub == "FLUSH":
		clear(in.scripts)
		return false // miniredis checks the arguments, and has no scripts to flush
	default:
		return false
	}
	return true
}
