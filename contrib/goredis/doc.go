// Package goredis opens a client of package redlock for the masters that a program has
// go-redis clients of:
//
//	client, err := goredis.Open([]redis.UniversalClient{redis1, redis2, redis3})
//
// It reads the options of each client and makes connections of its own to the same servers:
// with their network, address, database, dialer, TLS, dial timeout and client name, and with
// their user and password or their credentials provider. The go-redis clients are not used,
// and may be closed. What their options say about pools, retries, time-outs of commands, the
// protocol, OnConnect, hooks and the Limiter means nothing here.
//
// A provider of credentials is asked at each dial. A streaming provider is subscribed to once for each
// master, at its first dial, until the client is closed; each dial uses the last
// credentials that it gave. A connection that stands is not authenticated again.
package goredis
