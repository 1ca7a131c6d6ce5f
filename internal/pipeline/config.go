package pipeline

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/deliver"
)

// A Config says how to reach one master and how long to wait for it. Package pool validates it.
// New only fills in defaults for fields that are zero.
type Config struct {
	Name    string // the master's name in errors: its address, never a credential
	Network string // "tcp" or "unix"
	Addr    string
	TLS     *tls.Config // nil: plain

	Username, Password string
	// Credentials, if set, is called at every dial and replaces the two fields above.
	Credentials func(ctx context.Context) (username, password string, err error)
	DB          int
	ClientName  string

	Dialer      func(ctx context.Context, network, addr string) (net.Conn, error)
	DialTimeout time.Duration // for connecting, TLS and the handshake together; default 2 s
	StallLimit  time.Duration // a connection without any progress for this long is replaced; default 1 s
	MinBackoff  time.Duration // the first pause between failures; default 10 ms
	MaxBackoff  time.Duration // default 1 s
	QueueLimit  int           // commands waiting or under way; default 65,536

	Scripts   []Script           // loaded at every dial where the master lacks them
	Deliverer *deliver.Deliverer // gets the log lines; nil: there are none

	Chance *chance.Source // for simulations; nil: Go's generators
	Yield  func()         // for simulations; nil: runtime.Gosched
}

const defaultStallLimit = time.Second

func (c Config) withDefaults() Config {
	if c.Dialer == nil {
		c.Dialer = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 2 * time.Second
	}
	if c.StallLimit == 0 {
		c.StallLimit = defaultStallLimit
	}
	if c.MinBackoff == 0 {
		c.MinBackoff = 10 * time.Millisecond
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = time.Second
	}
	if c.QueueLimit == 0 {
		c.QueueLimit = 1 << 16
	}
	if c.Yield == nil {
		c.Yield = runtime.Gosched
	}
	return c
}
