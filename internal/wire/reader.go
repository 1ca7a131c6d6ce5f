package wire

import (
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// Reader is a reader of a read-write lock. Many hold it together; they wait in a queue of their
// own and are called together (readers_queue.lua). All its scripts but
// verify take the longest TTL of all clients as their last argument, the scripted ones as their
// first; those that acquire take the key of waiting writers as well. Its fencing token is that of
// the last writer, and not a new one.
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

// writerWaits stands for that writer.
var writerWaits = quorum.Held{Type: IntentType}

func readReaderGrant(a *Ask, f *fact, reply any) ballot.Answer {
	if reply == any(int64(codeWriterWaits)) {
		return refusal(f, &writerWaits)
	}
	return readGrant(a, f, reply)
}
