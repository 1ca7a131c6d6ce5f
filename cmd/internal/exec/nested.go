package exec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/redlock"
)

// Variables that tell a command which locks are held around it, each as a list in JSON.
const (
	heldVariable   = "REDLOCK_HELD"        // their keys
	hashesVariable = "REDLOCK_HELD_HASHES" // a hash of the token of each hold
)

// A surrounding lists the locks that are held around this process, the innermost last, according
// to its environment. The list may be old: a daemon keeps the environment of its start.
type surrounding struct{ keys, hashes []string }

// heldAround reads the environment. It ignores a value that is no such list.
func heldAround(env func(string) string) (s surrounding) {
	if json.Unmarshal([]byte(env(heldVariable)), &s.keys) != nil {
		return surrounding{}
	}
	if json.Unmarshal([]byte(env(hashesVariable)), &s.hashes) != nil || len(s.hashes) != len(s.keys) {
		s.hashes = make([]string, len(s.keys)) // these match no holder
	}
	return s
}

// within returns the variables for a command under one more lock.
func (s surrounding) within(key, token string) []string {
	keys, _ := json.Marshal(append(slices.Clip(s.keys), key)) // of strings: it cannot fail
	hashes, _ := json.Marshal(append(slices.Clip(s.hashes), hashOf(token)))
	return []string{heldVariable + "=" + string(keys), hashesVariable + "=" + string(hashes)}
}

// hashOf returns a hash that identifies a hold. The hash, unlike the token, cannot release it.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// nested returns an error if this process already runs under the lock: it would wait for its parent.
func (e *execution) nested(ctx context.Context) error {
	if !slices.Contains(e.around.keys, e.key) {
		return nil
	}
	in, err := e.client.Inspect(ctx, e.key)
	if err != nil || in.Verdict != redlock.VerdictHeld {
		return nil // so nobody is known to hold it
	}
	holder := hashOf(in.Holders[0].Token)
	for i, key := range e.around.keys {
		if key == e.key && e.around.hashes[i] == holder {
			return app.Usagef("this exec runs under lock %q already, and would wait for its own parent: "+
				"run the command without it", key)
		}
	}
	return nil
}
