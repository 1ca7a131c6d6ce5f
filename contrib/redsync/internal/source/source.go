// Package source has the types of pools of this module.
package source

import (
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/redlock"
)

// A Pool is a Master or a Client.
type Pool interface{ pool() }

// A Master is one master of a Redsync: the program has a go-redis client of it.
type Master struct{ redis.UniversalClient }

// A Client has all masters of a Redsync.
type Client struct{ *redlock.Client }

func (Master) pool() {}
func (Client) pool() {}
