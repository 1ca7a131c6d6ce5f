package goredis_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/goredis"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// A program that has a go-redis client for each of several independent masters.
func Example() {
	urls, stop, err := redlocktest.Run(3)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	var clients []redis.UniversalClient
	for _, url := range urls {
		o, err := redis.ParseURL(url)
		if err != nil {
			log.Fatal(err)
		}
		client := redis.NewClient(o)
		defer func() { _ = client.Close() }()
		clients = append(clients, client)
	}

	locks, err := goredis.Open(clients)
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locks.Do(context.Background(), "invoice:42", func(ctx context.Context) error {
		fmt.Println("locked")
		return ctx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: locked
}
