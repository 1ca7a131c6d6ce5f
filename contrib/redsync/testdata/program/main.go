// A program that uses redsync with go-redis. program_test.go compiles it as it is, and
// with the import paths of this module, and runs both.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/redsync/testdata/program/locker"
)

type server struct {
	Addr, Password, CA string
	DB                 int
}

func (s server) client() goredislib.UniversalClient {
	options := &goredislib.Options{Addr: s.Addr, Password: s.Password, DB: s.DB}
	if s.CA != "" {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(s.CA))
		options.TLSConfig = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	}
	return goredislib.NewClient(options)
}

func main() {
	log.SetFlags(0)
	var servers []server
	if err := json.Unmarshal([]byte(os.Getenv("SERVERS")), &servers); err != nil {
		log.Fatal(err)
	}
	var clients []goredislib.UniversalClient
	for _, s := range servers {
		client := s.client()
		defer client.Close()
		clients = append(clients, client)
	}
	for name, use := range map[string]func(ctx context.Context, clients []goredislib.UniversalClient) error{
		"one after the other": oneAfterTheOther, "many at a time": manyAtATime,
	} {
		if err := use(context.Background(), clients); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
	fmt.Println("the program works")
}

func oneAfterTheOther(ctx context.Context, clients []goredislib.UniversalClient) error {
	here, err := locker.New(clients, locker.WithTries(32), locker.WithExpiry(20*time.Second))
	if err != nil {
		return err
	}
	elsewhere, err := locker.New(clients, locker.WithTries(2), locker.WithRetryDelay(10*time.Millisecond))
	if err != nil {
		return err
	}
	lock, err := here.Lock(ctx, "job")
	if err != nil {
		return err
	}
	if value, err := clients[0].Get(ctx, "job").Result(); err != nil && len(clients) == 1 {
		return fmt.Errorf("the key is not in the program's database: %q, %w", value, err)
	}
	if _, err := elsewhere.Lock(ctx, "job"); !errors.Is(err, locker.ErrHeld) {
		return fmt.Errorf("elsewhere: %v, want that it is held", err)
	}
	if err := locker.Refresh(ctx, lock); err != nil {
		return err
	}
	if err := lock.Unlock(ctx); err != nil {
		return err
	}
	again, err := elsewhere.Lock(ctx, "job")
	if err != nil {
		return err
	}
	return again.Unlock(ctx)
}

func manyAtATime(ctx context.Context, clients []goredislib.UniversalClient) error {
	var inside, ran int
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			l, err := locker.New(clients,
				locker.WithTries(1000), locker.WithRetryDelay(10*time.Millisecond), redsync.WithDriftFactor(0.01))
			if err != nil {
				errs[i] = err
				return
			}
			lock, err := l.Lock(ctx, "shared")
			if err != nil {
				errs[i] = err
				return
			}
			if inside++; inside != 1 { // the race detector checks this too
				errs[i] = errors.New("two are inside")
			}
			time.Sleep(5 * time.Millisecond)
			inside--
			ran++
			errs[i] = errors.Join(errs[i], lock.Unlock(ctx))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || ran != len(errs) {
		return fmt.Errorf("%d of %d ran: %w", ran, len(errs), err)
	}
	return nil
}
