package script

import _ "embed" // the scripts

//go:embed readers_queue.lua
var readersQueueSource string

//go:embed reader_handover.lua
var readerHandOverSource string

// The scripts of readers that wait, and of readers that wake the next waiters.
var (
	ReadersQueue = newScript("readers_queue", withHandOver(withHeld(readersQueueSource)))
	// ReaderHandOver does ReaderRelease, and hands the lock over if it is free then.
	ReaderHandOver = newScript("reader_handover",
		plain(withReaders(readerReleaseSource))+withHandOver(readerHandOverSource))
	// GuardedReaderHandOver does the same in strict, with GuardedReaderRelease.
	GuardedReaderHandOver = newScript("guarded_reader_handover",
		guardedReleaseSource+plain(withReaders(readerReleaseSource))+withHandOver(readerHandOverSource))
)
