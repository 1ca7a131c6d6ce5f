// Package goredis opens a client of package redlock from a program's go-redis clients of the
// masters:
//
//	client, err := goredis.Open([]redis.UniversalClient{redis1, redis2, redis3})
//
// It reads the options of each client and makes its own connections to the same servers: with
// their network, address, database, dialer, TLS, dial timeout and client name, and with their
// user and password or their credentials provider. The go-redis clients are not used, and may
// be closed. Their options for pools, retries, time-outs of commands, the protocol, OnConnect,
// hooks and the Limiter have no effect here.
//
// Each dial asks the provider of credentials. For a streaming provider there is one
// subscription for each master, from its first dial until the client is closed; each dial uses
// the latest credentials. An open connection is not authenticated again.
package goredis
