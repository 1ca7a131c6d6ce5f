package simmaster

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/redquorum/redquorum/internal/script"
)

// likeRedisLua makes gopher-lua's globals like those of Redis. Its tonumber knows an exponent
// and integers above 64 bits. An error of a command that pcall catches begins with its code,
// without the line of the script. Other globals can be neither made nor read.
const likeRedisLua = `
local narrow, caught = tonumber, pcall
function tonumber(v, base)
  local n
  if base then n = narrow(v, base) else n = narrow(v) end
  if n == nil and base == nil and type(v) == 'string' and string.find(v, '^[-+]?[%d.]+[eE]?[-+]?%d*$') then
    local ok, sum = caught(function() return v + 0 end)
    if ok then n = sum end
  end
  return n
end
local function bare(ok, e, ...)
  if not ok and type(e) == 'string' then e = string.gsub(e, '^[^:]*:%d+: (%u%u%u+ )', '%1') end
  return ok, e, ...
end
function pcall(...) return bare(caught(...)) end
setmetatable(_G, {
  __newindex = function(_, name) error("Script attempted to create global variable '" .. tostring(name) .. "'", 2) end,
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})`

// An interpreter runs the scripts of one run of a master, one at a time, with the gate's slot.
// miniredis makes a new Lua state for each script and each command's reply. That was half the work
// of the tests on simulated masters.
type interpreter struct {
	l       *lua.LState
	srv     *server.Server
	reply   bytes.Buffer // of the command that a script calls
	caller  *server.Peer // writes to reply; miniredis takes it for the client's
	scripts map[string]string
}

// newInterpreter makes an interpreter for srv that knows no script.
func newInterpreter(srv *server.Server) *interpreter {
	in := &interpreter{
		l: lua.NewState(lua.Options{SkipOpenLibs: true}), srv: srv, scripts: map[string]string{},
	}
	for _, lib := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.l.Push(in.l.NewFunction(lib))
		in.l.Call(0, 0)
	}
	in.l.SetGlobal("redis", in.l.SetFuncs(in.l.NewTable(), map[string]lua.LGFunction{
		"call":         func(*lua.LState) int { return in.call(true) },
		"pcall":        func(*lua.LState) int { return in.call(false) },
		"error_reply":  errorReply,
		"status_reply": func(l *lua.LState) int { l.Push(table("ok", l.CheckString(1))); return 1 },
	}))
	if err := in.l.DoString(likeRedisLua); err != nil {
		panic(err)
	}
	in.caller = server.NewPeer(bufio.NewWriter(&in.reply))
	return in
}

// compiled has the prototypes of all scripts that were run in this process, by their source.
var compiled sync.Map

func compile(source string) (*lua.FunctionProto, error) {
	if p, ok := compiled.Load(source); ok {
		return p.(*lua.FunctionProto), nil
	}
	chunk, err := parse.Parse(strings.NewReader(source), "<string>")
	if err != nil {
		return nil, err
	}
	p, err := lua.Compile(chunk, "")
	if err != nil {
		return nil, err
	}
	compiled.Store(source, p)
	return p, nil
}

// load keeps a script, and returns its SHA.
func (in *interpreter) load(source string) (sha string, err error) {
	if _, err := compile(source); err != nil {
		return "", err
	}
	sha = shaOf(source)
	in.scripts[sha] = source
	return sha, nil
}

// shas has the SHA of each source, because clients load the same scripts again and again.
var shas sync.Map

func shaOf(source string) string {
	if sha, ok := shas.Load(source); ok {
		return sha.(string)
	}
	sha := script.SHA(source)
	shas.Store(source, sha)
	return sha
}

// run runs a script for a client, whose database it uses, and writes the reply to it.
func (in *interpreter) run(client *server.Peer, source string, keys, args []string) {
	defer in.l.SetTop(0)
	proto, err := compile(source)
	if err == nil {
		in.caller.Ctx = client.Ctx
		in.l.G.Global.RawSetString("KEYS", in.list(keys))
		in.l.G.Global.RawSetString("ARGV", in.list(args))
		in.l.Push(in.l.NewFunctionFromProto(proto))
		err = in.l.PCall(0, 1, nil)
	}
	if err != nil {
		client.WriteError(doesNotRun(err))
		return
	}
	writeLua(client, in.l.Get(-1))
}

// doesNotRun returns miniredis' error for a script that does not compile or fails. likeRedis reads
// it.
func doesNotRun(err error) string { return "ERR Error compiling script (new function): " + err.Error() }

func (in *interpreter) list(texts []string) *lua.LTable {
	t := in.l.CreateTable(len(texts), 0)
	for _, text := range texts {
		t.Append(lua.LString(text))
	}
	return t
}

// call is redis.call, and redis.pcall unless raise.
func (in *interpreter) call(raise bool) int {
	l := in.l
	if l.GetTop() == 0 {
		l.RaiseError("Please specify at least one argument for this redis lib call")
	}
	words := make([]string, l.GetTop())
	for i := range words {
		switch word := l.Get(i + 1).(type) {
		case lua.LNumber:
			words[i] = word.String()
		case lua.LString:
			words[i] = string(word)
		default:
			l.RaiseError("Lua redis lib command arguments must be strings or integers")
		}
	}
	in.reply.Reset()
	in.srv.Dispatch(in.caller, words)
	in.caller.Flush()
	reply, err := server.ParseReply(bufio.NewReaderSize(&in.reply, 64))
	switch {
	case err == nil:
		l.Push(toLua(l, reply))
	case raise:
		l.Error(lua.LString(err.Error()), 1)
	default:
		l.Push(table("err", err.Error()))
	}
	return 1
}

// errorReply is redis.error_reply.
func errorReply(l *lua.LState) int {
	text := strings.TrimPrefix(l.CheckString(1), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	l.Push(table("err", text))
	return 1
}

func table(name, value string) *lua.LTable {
	t := &lua.LTable{}
	t.RawSetString(name, lua.LString(value))
	return t
}

// toLua converts a command's reply to what a script gets.
func toLua(l *lua.LState, reply any) lua.LValue {
	switch r := reply.(type) {
	case nil:
		return lua.LFalse
	case int:
		return lua.LNumber(r)
	case string:
		return lua.LString(r)
	case server.Simple:
		return table("ok", string(r))
	case []any:
		t := l.CreateTable(len(r), 0)
		for _, e := range r {
			t.Append(toLua(l, e))
		}
		return t
	}
	panic(fmt.Sprintf("simmaster: a reply of type %T", reply))
}

// writeLua writes what a script returned.
func writeLua(p *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LBool:
		if v {
			p.WriteInt(1)
			return
		}
	case lua.LNumber:
		p.WriteInt(int(v))
		return
	case lua.LString:
		p.WriteBulk(string(v))
		return
	case *lua.LTable:
		if text := v.RawGetString("err"); text != lua.LNil {
			p.WriteError(text.String())
			return
		}
		if text := v.RawGetString("ok"); text != lua.LNil {
			p.WriteInline(text.String())
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		p.WriteLen(n)
		for i := range n {
			writeLua(p, v.RawGetInt(i+1))
		}
		return
	}
	p.WriteNull()
}
