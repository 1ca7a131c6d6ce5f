package wire

import (
	"fmt"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Only the exact replies count. For any other reply the readers here return the zero Answer,
// and Ask.Read makes a failure of it.

// A fact is what a master's reply says besides its verdict.
type fact struct {
	missing bool         // refused because the key was not there
	fence   uint64       // the lock's highest fencing token there, if it agreed
	held    *quorum.Held // whose key made it refuse, as far as known
	state   *KeyState    // what an inspection found
}

var agreed = ballot.Answer{Verdict: ballot.Agreed}

// heldUnknown is the holder of a key about which nobody has asked yet.
var heldUnknown = quorum.Held{}

// refusal returns the answer of a master where another holder has the lock.
func refusal(f *fact, held *quorum.Held) ballot.Answer {
	f.held = held
	return ballot.Answer{Verdict: ballot.Refused}
}

// readGrant reads the answer of a script that grants all or nothing.
func readGrant(_ *Ask, f *fact, reply any) ballot.Answer {
	switch reply {
	case any(int64(1)):
		return agreed
	case any(int64(0)):
		return refusal(f, &heldUnknown)
	}
	return ballot.Answer{}
}

// readCode reads the replies of scripts for a lock that is ours. Code 2, which says that the
// key was missing and is set again, is valid only for an extension.
func readCode(a *Ask, f *fact, code any) ballot.Answer {
	switch {
	case code == any(int64(1)):
		return agreed
	case code == any(int64(0)):
		return refusal(f, &heldUnknown)
	case code == any(int64(3)), a.op == OpExtend && code == any(int64(2)):
		f.missing = true
		return ballot.Answer{Verdict: ballot.Refused}
	}
	return ballot.Answer{}
}

func unexpected(reply any) error {
	return fmt.Errorf("%w: unexpected reply %q", pipeline.ErrProtocol, pipeline.Excerpt(fmt.Sprint(readable(reply))))
}

// readable returns a reply with its bulk strings as text, not as lists of numbers.
func readable(reply any) any {
	switch r := reply.(type) {
	case []byte:
		return string(r)
	case []any:
		all := make([]any, len(r))
		for i, part := range r {
			all[i] = readable(part)
		}
		return all
	default:
		return r
	}
}
