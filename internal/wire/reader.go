package wire

import (
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// Reader is a reader of a read-write lock. Many readers hold it together. They wait in a queue
// of their own and are called together (readers_queue.lua). All its scripts except verify take
// the longest TTL of all clients: the plain ones as last argument, the scripted ones as first.
// Those that acquire also take the key of waiting writers. A reader gets the fencing token of
// the last writer, not a new one.
var Reader = &Kind{
	acquire: script.ReaderAcquire,
	extend:  script.ReaderExtend,
	verify:  script.ReaderVerify,
	release: script.ReaderRelease,
	scripted: scriptedKind{
		acquire: script.GuardedReaderAcquire,
		extend:  script.GuardedReaderExtend,
		release: script.GuardedReaderRelease,
	},
	readGrant: readReaderGrant,
}

// codeWriterWaits is the reply of a script that keeps a reader out because a writer waits.
const codeWriterWaits = 4

// IntentType is the Type of a writer that waits and keeps readers out.
const IntentType = "intent"

// writerWaits describes that writer.
var writerWaits = quorum.Held{Type: IntentType}

func readReaderGrant(a *Ask, f *fact, reply any) ballot.Answer {
	if reply == any(int64(codeWriterWaits)) {
		return refusal(f, &writerWaits)
	}
	return readGrant(a, f, reply)
}
