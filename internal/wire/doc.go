// Package wire says what a lock is on a master: by which commands it is acquired, kept
// and given back, and what the masters' replies mean.
//
// It owns the format of keys, commands and replies (docs/reference/wire.md), and what a client
// knows of fencing tokens. A Claim is what stands on the masters, an Ask one question
// about it to all of them, a Query one to a master alone. A kind of lock is a Kind: one
// file here, and its scripts. It keeps nothing, waits for nothing but answers, and
// knows neither holds nor those who wait.
package wire
