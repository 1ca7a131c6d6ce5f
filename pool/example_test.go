package pool_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redquorum/redquorum/pool"
)

var masterURLs = []string{"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"}

// A pool with all that is usually set. redlock.New makes clients on it.
func ExampleNew() {
	p, err := pool.New(masterURLs,
		pool.WithAuth("locks", os.Getenv("REDIS_PASSWORD")),
		pool.WithDatabase(2),
		pool.WithClientName("billing"),
		pool.WithDialTimeout(time.Second),
		pool.WithCommandTimeout(200*time.Millisecond),
		pool.WithStallLimit(2*time.Second),
		pool.WithBackoff(50*time.Millisecond, 5*time.Second),
		pool.WithQueueLimit(4096),
		pool.WithLogger(nil), // by default warnings go to slog.Default
	)
	if err != nil {
		log.Fatal(err) // New checks what it is given, and waits for no master
	}
	defer p.Close()
}

// Masters with certificates of our own authority, which require one from the client.
func ExampleWithTLS() {
	roots := x509.NewCertPool()
	pem, err := os.ReadFile("/etc/redis/ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		log.Fatal("no certificate in /etc/redis/ca.pem")
	}
	ours, err := tls.LoadX509KeyPair("/etc/redis/client.pem", "/etc/redis/client.key")
	if err != nil {
		log.Fatal(err)
	}
	p, err := pool.New([]string{"rediss://redis-1:6379", "rediss://redis-2:6379", "rediss://redis-3:6379"},
		pool.WithTLS(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{ours}, MinVersion: tls.VersionTLS12}))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
}

// A password that is changed from time to time: it is read at every dial.
func ExampleWithCredentials() {
	p, err := pool.New(masterURLs, pool.WithCredentials(func(context.Context) (user, password string, err error) {
		secret, err := os.ReadFile("/run/secrets/redis")
		return "locks", strings.TrimSpace(string(secret)), err
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
}

// Each master has a password and a certificate of its own.
func ExampleNewFromConfigs() {
	p, err := pool.NewFromConfigs([]pool.Config{
		{Addr: "10.0.0.1:6379", Password: os.Getenv("REDIS_1_PASSWORD")},
		{Addr: "10.0.0.2:6379", Password: os.Getenv("REDIS_2_PASSWORD"), TLS: &tls.Config{ServerName: "redis-2", MinVersion: tls.VersionTLS12}},
		{Network: "unix", Addr: "/run/redis.sock"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
}

// The state of the connections, and why one is missing.
func ExamplePool_Stats() {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") }
	p, err := pool.New(masterURLs, pool.WithDialer(refuse), pool.WithLogger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	for _, master := range p.Stats() {
		fmt.Println(master.Name, master.Connected, master.Err != nil)
	}
	// Output:
	// 10.0.0.1:6379 false true
	// 10.0.0.2:6379 false true
	// 10.0.0.3:6379 false true
}

func ExamplePool_Masters() {
	p, err := pool.New([]string{"redis://10.0.0.1", "redis://10.0.0.2:6380/1", "unix:///run/redis.sock"}, pool.WithLogger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	fmt.Println(p.Len(), "masters")
	for _, master := range p.Masters() {
		fmt.Println(master.Name(), "database", master.DB())
	}
	// Output:
	// 3 masters
	// 10.0.0.1:6379 database 0
	// 10.0.0.2:6380 database 1
	// /run/redis.sock database 0
}

// An error names a wrong URL by position and address, never by its password.
func ExampleNew_errors() {
	_, err := pool.New([]string{"redis://10.0.0.1", "redis://:secret@10.0.0.1:6379"})
	fmt.Println(err)
	// Output: pool: master URL 2: 10.0.0.1:6379 is already master 1: every master must be given once
}
