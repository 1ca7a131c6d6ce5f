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
	// intentTTL is how long a writer that has stopped waiting without a word keeps readers
	// out: a few times the default pause between attempts.
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

// WithdrawIntent removes that note. It goes out behind the note on the same connections, or
// on later ones while the note may still be there.
func (w *Wire) WithdrawIntent(key string, mark any) {
	a := w.newAsk(OpRelease)
	defer a.Done()
	a.Command.Encoded = pipeline.AppendCommand(a.Command.Encoded[:0], "ZREM", intentPrefix+key, mark)
	a.send("ZREM", 0, time.Now().Add(intentTTL))
}
