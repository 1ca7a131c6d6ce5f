package wire

import (
	"errors"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A client's first acquisition may go out with the handshake of its connections. Then a
// script compares the marker and acquires in one step (guard.Early).

// CanBeEarly reports whether the claim is of a lock that Try.Early may ask for.
func (w *Wire) CanBeEarly(c *Claim) bool { return c.Kind == Plain && !w.scripted(c) }

// acquireEarly asks for a plain lock by that script.
func (a *Ask) acquireEarly(c *Claim, e *guard.Early) {
	a.read = readEarly
	a.Command.Encoded = pipeline.AppendCommand(a.Command.Encoded[:0], "EVAL", e.Args(c.Keys[0], c.Token, c.milliseconds())...)
	release := script.Release.EvalArgs(script.Release.Args(nil, c.Keys, c.Token))
	a.Command.Undo = pipeline.AppendCommand(nil, "EVAL", release...)
	a.send("EVAL", 0, time.Time{})
}

// errOtherMarker is the reason of a master whose marker is missing or has other settings.
// The guard says more of it once it has judged the master.
var errOtherMarker = errors.New("no marker with this client's settings")

// readEarly reads the answer to the script.
func readEarly(a *Ask, f *fact, reply any) ballot.Answer {
	if reply == any(int64(-1)) {
		f.other = true
		return ballot.Answer{Verdict: ballot.Failed, Err: errOtherMarker}
	}
	return readGrant(a, f, reply)
}
