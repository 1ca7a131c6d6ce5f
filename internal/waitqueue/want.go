package waitqueue

import (
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/wire"
)

// Want is what a call wants, and how it is to wait.
type Want struct {
	Keys []any      // as wire.Claim has them: with the prefix, sorted
	Kind *wire.Kind // of lock
	Fair bool       // nobody is to be overtaken
	// Limit is how long to wait for one master at most.
	Limit time.Duration
	// Tries bounds the attempts of a call that polls; 0: as many as it takes.
	Tries int
	// Backoff is the pause after the attempt of that number; nil: a random one.
	Backoff func(attempt int) time.Duration
}

// key is the first key.
func (w *Want) key() string {
	key, _ := w.Keys[0].(string)
	return key
}

// isSet reports whether several keys are wanted together, by a call that queues.
func (w *Want) isSet() bool { return len(w.Keys) > 1 && !w.Kind.OneOf }

// queues reports whether a call waits in queues, and does not poll. It polls if the caller
// has said how often, or when, to try, and if no queue serves its kind.
func (w *Want) queues() bool {
	return w.Tries == 0 && w.Backoff == nil && (w.Kind.Queued || w.Kind.Shared || w.isSet() || w.Kind.OneOf)
}

// line is the name of the line in which a call waits. Only calls that want the same share a
// line. If a set of keys also stood in the lines of its keys, there could be a deadlock: a
// caller that holds one of the keys and wants another would wait for the set, and the set for
// the key that is held.
func (w *Want) line() string {
	if len(w.Keys) == 1 {
		return w.key()
	}
	var name strings.Builder
	name.WriteString(linePrefix + w.Kind.Name() + ":")
	for _, key := range w.Keys {
		name.WriteByte(0)
		name.WriteString(key.(string))
	}
	return name.String()
}

// linePrefix begins the names of lines that are not those of one key's plain lock; no key
// begins with it.
const linePrefix = wire.ReservedPrefix
