package sim

import (
	"bytes"
	"context"
)

// background is the context of calls that nobody cancels.
var background = context.Background()

// fateOf decides what becomes of a command.
func (n *network) fateOf(d *dice, data []byte) fate {
	if greets(verbOf(data)) || n.isCalm() {
		return arrives
	}
	switch {
	case d.one(n.p.CutOneIn):
		return []fate{cutBefore, cutHalf, cutAfter}[d.upTo(3)]
	// The marker's scripts are not repeated. A connection repeats nothing by itself: a repeated
	// command models late bytes of an abandoned connection. Such bytes end with the process,
	// and so must a declaration.
	case d.one(n.p.TwiceOneIn) && (n.p.TwiceOnly == "" || n.p.TwiceOnly == nameOf(data)) &&
		!bytes.Contains(data, []byte("redquorum:marker")):
		return twice
	}
	return arrives
}

// verbOf is the name of a command.
func verbOf(data []byte) string {
	_, rest, _ := bytes.Cut(data, []byte("\r\n"))
	_, rest, _ = bytes.Cut(rest, []byte("\r\n"))
	name, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(name)
}

// greets reports whether a command begins a connection or keeps it alive.
func greets(verb string) bool {
	switch verb {
	case "CLIENT", "INFO", "SCRIPT", "PING", "SELECT", "AUTH", "SUBSCRIBE":
		return true
	}
	return false
}
