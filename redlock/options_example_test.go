package redlock_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// The masters use TLS, with an ACL user whose password changes.
func ExampleWithPool() {
	roots := x509.NewCertPool()
	pem, err := os.ReadFile("/etc/redis/ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		log.Fatal("no certificate in /etc/redis/ca.pem")
	}
	client, err := redlock.Open(
		[]string{"rediss://10.0.0.1:6379", "rediss://10.0.0.2:6379", "rediss://10.0.0.3:6379"},
		redlock.WithPool(
			pool.WithTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}),
			pool.WithCredentials(func(context.Context) (user, password string, err error) {
				data, err := os.ReadFile("/run/secrets/redis")
				return "locks", string(data), err // asked for at every dial
			}),
			pool.WithCommandTimeout(500*time.Millisecond), // masters that are far away
		))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
}

// These options are the same for all clients of a fleet, in one place.
func ExampleWithGuard() {
	fleet := []redlock.Option{
		redlock.WithGuard(redlock.GuardStrict),
		redlock.WithMaxTTL(30 * time.Second),
		redlock.WithClientSkew(time.Second),
		redlock.WithClockError(50 * time.Millisecond),
		redlock.WithFenceRetention(48 * time.Hour),
		redlock.WithDrift(drift.Policy{Factor: 0.01, Floor: 2 * time.Millisecond}),
	}
	client, err := redlock.Open([]string{"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"}, fleet...)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
}

// Nobody may have this hold for longer than a minute, however it is renewed.
func ExampleWithRenewal() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	lock, err := client.Lock(ctx, "export:all", redlock.WithTTL(3*time.Second),
		redlock.WithRenewal(redlock.Renewal{Every: time.Second, MaxHold: time.Minute}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held, and not for longer than", time.Minute)
	_ = lock.Unlock(ctx)
	// Output: held, and not for longer than 1m0s
}

// This call polls instead of waiting to be woken: five attempts, with growing pauses.
func ExampleWithTries() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	held, err := client.Lock(ctx, "mailbox:1")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = held.Unlock(ctx) }()

	attempts := 0
	_, err = client.Lock(ctx, "mailbox:1", redlock.WithTries(5), redlock.WithBackoff(func(attempt int) time.Duration {
		attempts = attempt
		return time.Duration(attempt) * time.Millisecond
	}))
	fmt.Println(errors.Is(err, redlock.ErrTaken), "with pauses after", attempts)
	// Output: true with pauses after 4
}

// Another program continues to hold the lock by its token, even after this one has ended.
func ExampleWithUnlockOnly() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	held, err := client.Lock(ctx, "upload:7", redlock.WithLease(30*time.Second), redlock.WithUnlockOnly())
	if err != nil {
		log.Fatal(err)
	}
	token := held.Token()
	client.Close()

	other, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()
	adopted, err := other.Adopt(ctx, "upload:7", token)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(adopted.Key(), "is still held")
	_ = adopted.Unlock(ctx)
	// Output: upload:7 is still held
}

// All callers that ask for it are served first come, first served.
func ExampleWithFairness() {
	client, err := redlock.Open(masterURLs, redlock.WithFairness())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.Do(context.Background(), "ticket-desk", func(context.Context) error {
		fmt.Println("served")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: served
}
