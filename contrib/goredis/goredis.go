package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// Open makes a client for the masters of these go-redis clients, in their order. It checks
// the clients and the options and starts to connect; it waits for no master. Close of the
// returned client ends all that Open started.
//
// Each of the go-redis clients has to be for one server, as redis.NewClient makes them. A client
// of a cluster or a ring and a fail-over client (Sentinel) are refused, and so are nil and a
// second client of one server; the error names the position. All must select the same
// database.
//
// An option of redlock.WithPool overrides the same option of all go-redis clients.
func Open(clients []redis.UniversalClient, opts ...redlock.Option) (*redlock.Client, error) {
	masters := make([]pool.Config, len(clients))
	for i, client := range clients {
		o, err := optionsOf(client)
		if err != nil {
			return nil, fmt.Errorf("goredis: client %d is %w", i+1, err)
		}
		if db := masters[0].DB; i > 0 && o.DB != db {
			return nil, fmt.Errorf("goredis: client %d is for database %d, the first for %d: "+
				"give all masters the same database", i+1, o.DB, db)
		}
		masters[i] = configOf(o)
	}
	return redlock.OpenConfigs(masters, opts...)
}

func optionsOf(client redis.UniversalClient) (*redis.Options, error) {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("nil: give a client of redis.NewClient for each master")
	}
	const instead = "give a client of redis.NewClient for each of several independent servers; " +
		"beside a Redis Cluster or a Sentinel, locks need servers of their own"
	single, ok := client.(interface{ Options() *redis.Options })
	if !ok {
		return nil, fmt.Errorf("a %T, which is not for one server: %s", client, instead)
	}
	o := single.Options()
	if o.Addr == "FailoverClient" { // redis.NewFailoverClient has the type of redis.NewClient
		return nil, fmt.Errorf(
			"a fail-over client (Sentinel), and a replica that is promoted may have lost locks: %s", instead)
	}
	return o, nil
}

// configOf says how to reach the master of a client.
func configOf(o *redis.Options) pool.Config {
	c := pool.Config{Addr: o.Addr, DB: o.DB, Dialer: dialer(o)}
	if o.Network == "unix" {
		c.Network = o.Network
	}
	if o.DialTimeout > 0 {
		c.DialTimeout = min(max(o.DialTimeout, 10*time.Millisecond), time.Minute)
	}
	foreign := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(o.ClientName) <= 64 && !strings.ContainsFunc(o.ClientName, foreign) {
		c.ClientName = o.ClientName
	}
	switch { // in the order of go-redis
	case o.StreamingCredentialsProvider != nil:
		s := &subscription{provider: o.StreamingCredentialsProvider}
		c.Credentials, c.OnClose = s.credentials, s.end
	case o.CredentialsProviderContext != nil:
		c.Credentials = o.CredentialsProviderContext
	case o.CredentialsProvider != nil:
		c.Credentials = func(context.Context) (username, password string, err error) {
			username, password = o.CredentialsProvider()
			return username, password, nil
		}
	case o.Password != "":
		c.Username, c.Password = o.Username, o.Password
	}
	return c
}

// dialer dials as the client does, TLS included. For TLS the dialer of go-redis ignores ctx:
// when ctx ends, such a dial continues in the background. The client's dial timeout ends it,
// and its connection is closed.
func dialer(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	type outcome struct {
		conn net.Conn
		err  error
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialed := make(chan outcome)
		go func() {
			conn, err := o.Dialer(ctx, o.Network, o.Addr)
			select {
			case dialed <- outcome{conn, err}:
			case <-ctx.Done():
				if err == nil && conn != nil {
					_ = conn.Close()
				}
			}
		}()
		select {
		case d := <-dialed:
			return d.conn, d.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
