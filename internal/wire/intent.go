package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

const (
	// intentPrefix begins the keys under which each master notes waiting writers, in a
	// sorted set of marks; the lock's key follows.
	intentPrefix = ReservedPrefix + "intent:1:"
	// intentTTL is how long a note keeps readers out if its writer stops waiting without
	// withdrawing it. It is a few times the default pause between attempts.
	intentTTL = 2 * time.Second
)

// NoteIntent tells the masters that a writer waits, or still waits, for the key, so that
// they let no new reader in. The note soon expires by itself. It is only advice and does not
// decide who holds the lock. It goes to every master, and nobody waits for the answers.
func (w *Wire) NoteIntent(key string, mark any) {
	a := w.newAsk(OpRelease)
	defer a.Done()
	a.eval(script.WriterIntent, []string{intentPrefix + key}, 0, time.Time{}, mark, intentTTL.Milliseconds())
}

// WithdrawIntent removes that note. The command follows the note on the same connection, or
// goes out on a later one while the note may still be there.
func (w *Wire) WithdrawIntent(key string, mark any) {
	a := w.newAsk(OpRelease)
	defer a.Done()
	a.Command.Encoded = pipeline.AppendCommand(a.Command.Encoded[:0], "ZREM", intentPrefix+key, mark)
	a.send("ZREM", 0, time.Now().Add(intentTTL))
}
