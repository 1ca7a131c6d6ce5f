// Package wire says what a lock is on a master: which commands acquire, keep and release
// it, and what the masters' replies mean.
//
// It owns the format of keys, commands and replies (docs/project/protocol.md), and what a
// client knows about fencing tokens. A Claim is what the masters store for a lock. An
// Ask is one question about it to all masters, a Query one to a single master. A kind of
// lock is a Kind: it has one file here, and its scripts. The package keeps no state of
// holds, waits only for answers, and knows neither holds nor waiters.
package wire
