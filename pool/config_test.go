package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/redquorum/redquorum/internal/pipeline"
)

func settled(t *testing.T, c Config, opts ...Option) (pipeline.Config, error) {
	t.Helper()
	o := defaults()
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			t.Fatal(err)
		}
	}
	configs, err := o.configs("master", []Config{c})
	if err != nil {
		return pipeline.Config{}, err
	}
	return configs[0], nil
}

// Waiting calls find each other by the text of the addresses.
func TestAnAddressOfAConfigIsNamedAsInAURL(t *testing.T) {
	for addr, want := range map[string]string{
		":6379": "localhost:6379", "HOST:07001": "host:7001", "host": "host:6379", "": "localhost:6379",
		"::1": "[::1]:6379", "[::1]": "[::1]:6379", "[FE80::1]:1": "[fe80::1]:1",
	} {
		if got, err := settled(t, Config{Addr: addr}); err != nil || got.Addr != want || got.Name != want || got.Network != "tcp" {
			t.Errorf("%q: %q, %v; want %q", addr, got.Addr, err, want)
		}
	}
	const socket = "/run/Redis.sock"
	if got, err := settled(t, Config{Network: "unix", Addr: socket}); err != nil || got.Addr != socket || got.Name != socket || got.Network != "unix" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatAConfigCannotMeanIsRefused(t *testing.T) {
	for want, c := range map[string]Config{
		`network "udp": want tcp or unix`:            {Network: "udp", Addr: "h:1"},
		"no socket path":                             {Network: "unix"},
		"a control character in the socket path":     {Network: "unix", Addr: "/a\nb"},
		`port "x": want 1 to 65535`:                  {Addr: "h:x"},
		"h:1: a user without a password":             {Addr: "h:1", Username: "me"},
		"h:1: database -1: want 0 or more":           {Addr: "h:1", DB: -1},
		"h:1: dial timeout 1ns: want 10ms to 1m0s":   {Addr: "h:1", DialTimeout: 1},
		`h:1: client name "a b": want 1 to 64 bytes`: {Addr: "h:1", ClientName: "a b"},
	} {
		if _, err := settled(t, c); err == nil || !strings.HasPrefix(err.Error(), "master 1: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := NewFromConfigs([]Config{{Addr: "h:1"}, {Addr: "H:1", DB: 2}}); err == nil || !strings.HasPrefix(err.Error(), "pool: master 2: ") {
		t.Errorf("%v", err)
	}
}

// The settings of a configuration reach its master, and an option overrules them.
func TestOptionsOverruleConfigs(t *testing.T) {
	asked := errors.New("asked")
	own := Config{
		Addr: "h:1", Username: "me", Password: "pw", DB: 3, ClientName: "own", DialTimeout: 5 * time.Second,
		Credentials: func(context.Context) (string, string, error) { return "", "", asked },
		Dialer:      func(context.Context, string, string) (net.Conn, error) { return nil, asked },
		TLS:         &tls.Config{ServerName: "own", InsecureSkipVerify: true}, //nolint:gosec // what is tested
	}
	got, err := settled(t, own)
	if err != nil || got.Username != "me" || got.Password != "pw" || got.DB != 3 || got.ClientName != "own" || got.DialTimeout != 5*time.Second ||
		got.TLS == own.TLS || got.TLS.ServerName != "own" || !got.TLS.InsecureSkipVerify {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := got.Credentials(t.Context()); !errors.Is(err, asked) {
		t.Error("its credentials are not asked for")
	}
	if _, err := got.Dialer(t.Context(), "", ""); !errors.Is(err, asked) {
		t.Error("its dialer is not used")
	}
	got, err = settled(t, own, WithAuth("all", "of them"), WithDatabase(3), WithClientName("all"), WithDialTimeout(time.Second),
		WithTLS(&tls.Config{ServerName: "all"}), WithDialer(new(net.Dialer).DialContext)) //nolint:gosec // not used
	if err != nil || got.Username != "all" || got.Password != "of them" || got.Credentials != nil || got.ClientName != "all" ||
		got.DialTimeout != time.Second || got.TLS.ServerName != "all" || !got.TLS.InsecureSkipVerify {
		t.Errorf("%+v, %v", got, err)
	}
	other := errors.New("other")
	got, err = settled(t, own, WithCredentials(func(context.Context) (string, string, error) { return "", "", other }))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := got.Credentials(t.Context()); !errors.Is(err, other) {
		t.Errorf("its own credentials are asked for: %v", err)
	}
}

func TestCloseTellsTheConfigsOnce(t *testing.T) {
	m, closes := miniredis.RunT(t), 0
	p, err := NewFromConfigs([]Config{{Addr: m.Addr(), OnClose: func() { closes++ }}, {Addr: "127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if c := ask(p.masters[0], "SET", "key", "value").wait(t); c.Err != nil {
		t.Fatal(c.Err)
	}
	for range 2 {
		_ = p.Close()
	}
	if closes != 1 {
		t.Errorf("told %d times, want once", closes)
	}
}
