package simmaster

import (
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redquorum/redquorum/internal/script"
)

// library is the source of each of the library's scripts, by its SHA. A client
// loads all of them at every dial, and miniredis parses what it loads, to see
// whether it compiles: that was three quarters of the work of whoever dials
// much. These are known to compile.
var library = func() map[string]string {
	sources := make(map[string]string, len(script.All))
	for _, s := range script.All {
		sources[s.SHA] = s.Source
	}
	return sources
}()

// wideNumbers stands before every script, in its first line: the tonumber of
// miniredis' Lua knows no exponent and no integer above 64 bits, which its
// arithmetic does.
const wideNumbers = `local narrow = tonumber local tonumber = function(v, base) ` +
	`local n if base then n = narrow(v, base) else n = narrow(v) end ` +
	`if n == nil and base == nil and type(v) == 'string' and string.find(v, '^[-+]?[%d.]+[eE]?[-+]?%d*$') then ` +
	`local ok, sum = pcall(function() return v + 0 end) if ok then n = sum end end ` +
	`return n end; `

// bareErrors stands before every script, too: what pcall catches of a command begins with
// the error's code in Redis, and with the line of the script in miniredis' Lua.
const bareErrors = `local caught = pcall local bare = function(ok, e, ...) ` +
	`if not ok and type(e) == 'string' then e = string.gsub(e, '^[^:]*:%d+: (%u%u%u+ )', '%1') end ` +
	`return ok, e, ... end local pcall = function(...) return bare(caught(...)) end; `

// scripts are those that were loaded in a run, by their SHA: the library's,
// which miniredis does not know, and others that were run by their source, which
// it does.
type scripts map[string]bool

// loadRun notes that a script was run by its source: it is known by its SHA from
// now on.
func (s *session) loadRun(p *server.Peer, source string) {
	sha := script.SHA(source)
	if s.run.scripts[sha] {
		return
	}
	if library[sha] == "" {
		s.silently(p, "SCRIPT", "LOAD", source)
	}
	s.run.scripts[sha] = true
}

// answerLoaded executes SCRIPT and EVALSHA where it concerns the library's
// scripts.
func (s *session) answerLoaded(p *server.Peer, cmd string, args []string) bool {
	loaded := s.run.scripts
	if cmd == "EVALSHA" {
		if len(args) < 2 {
			return false
		}
		sha := strings.ToLower(args[0])
		source := library[sha]
		if source == "" || !loaded[sha] {
			return false
		}
		s.run.srv.Dispatch(p, append([]string{"EVAL", source}, args[1:]...))
		return true
	}
	if len(args) == 0 || s.inMulti || s.telling {
		return false
	}
	switch strings.ToUpper(args[0]) {
	case "LOAD":
		if len(args) != 2 {
			return false
		}
		sha := script.SHA(args[1])
		if library[sha] == "" {
			return false
		}
		loaded[sha] = true
		p.WriteBulk(sha)
		return true
	case "EXISTS":
		return s.answerExists(p, args[1:])
	case "FLUSH":
		clear(loaded)
	}
	return false
}

// answerExists executes SCRIPT EXISTS. Every client asks for the library's scripts
// at every dial: that is answered here. Where another script is asked for too,
// miniredis answers, and is told first of those of the library.
func (s *session) answerExists(p *server.Peer, shas []string) bool {
	loaded := s.run.scripts
	if len(shas) > 0 && !slices.ContainsFunc(shas, func(sha string) bool { return library[sha] == "" }) {
		p.WriteLen(len(shas))
		for _, sha := range shas {
			if loaded[sha] {
				p.WriteInt(1)
			} else {
				p.WriteInt(0)
			}
		}
		return true
	}
	s.telling = true
	defer func() { s.telling = false }()
	for _, sha := range shas {
		if source := library[sha]; source != "" && loaded[sha] {
			s.silently(p, "SCRIPT", "LOAD", source)
		}
	}
	return false
}
