package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

const (
	// intentPrefix begins the keys under which waiting writers are noted: a sorted set
	// of marks on each master, for the lock's key that follows.
	intentPrefix = ReservedPrefix + "intent:1:"
	// intentTTL is for how long a waiting writer that is heard of no more keeps readers
	// out: a few times as long as the default pause between attempts.
	intentTTL = 2 * time.Second
)

// NoteIntent tells the masters that a writer waits for the key, so that they let no new
// reader in, or that it still does. It expires soon by itself; it is advice, and plays
// no part in who holds the lock. Nobody waits for the answers, and no refusal decides:
// every master is told.
func (w *Wire) NoteIntent(key string, mark any) {
	a := w.newAsk(OpRelease)
	defer a.LetGo()
	a.eval(script.WriterIntent, []any{intentPrefix + key}, 0, time.Time{}, mark, intentTTL.Milliseconds())
}

// WithdrawIntent takes it back, on the same connections and so behind it, or on later
// ones while it may still stand.
func (w *Wire) WithdrawIntent(key string, mark any) {
	a := w.newAsk(OpRelease)
	defer a.LetGo()
	a.Command.Encoded = pipeline.AppendCommand(a.Command.Encoded[:0], "ZREM", intentPrefix+key, mark)
	a.send("ZREM", 0, time.Now().Add(intentTTL))
}
