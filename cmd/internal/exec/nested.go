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
	hashesVariable = "REDLOCK_HELD_HASHES" // of the token of each hold
)

// A surrounding is the locks that are held around this process, the innermost last, as
// its environment has it. That may be of another time: a daemon keeps the one that it was
// started with.
type surrounding struct{ keys, hashes []string }

// heldAround reads the environment. What is no such list says nothing.
func heldAround(env func(string) string) (s surrounding) {
	if json.Unmarshal([]byte(env(heldVariable)), &s.keys) != nil {
		return surrounding{}
	}
	if json.Unmarshal([]byte(env(hashesVariable)), &s.hashes) != nil || len(s.hashes) != len(s.keys) {
		s.hashes = make([]string, len(s.keys)) // nobody's
	}
	return s
}

// within is the variables for a command under one lock more.
func (s surrounding) within(key, token string) []string {
	keys, _ := json.Marshal(append(slices.Clip(s.keys), key)) // of strings: it cannot fail
	hashes, _ := json.Marshal(append(slices.Clip(s.hashes), hashOf(token)))
	return []string{heldVariable + "=" + string(keys), hashesVariable + "=" + string(hashes)}
}

// hashOf tells a hold from others, and releases none.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// nested is an error where this process runs under the lock already: it would wait for its own parent.
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
