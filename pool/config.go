package pool

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// A Config says how to reach one master: all that a URL can say, and more. An [Option] is for all
// masters, and overrules the same setting of their configurations; [WithDatabase] has to agree with
// them.
type Config struct {
	Network string // "tcp", the default, or "unix"
	// Addr is host:port or the path of a socket. A host in capitals or without a port, and a
	// port without a host (localhost), are named as in a URL.
	Addr string

	Username, Password string // an empty user is the default one
	// Credentials is called at every dial, and replaces the two above; see WithCredentials.
	Credentials func(ctx context.Context) (username, password string, err error)
	DB          int

	TLS *tls.Config // nil: none; see WithTLS
	// Dialer replaces net.Dialer, see WithDialer. TLS is added on top where it is set.
	Dialer      func(ctx context.Context, network, addr string) (net.Conn, error)
	DialTimeout time.Duration // see WithDialTimeout
	ClientName  string        // see WithClientName

	// OnClose is called once by Close, after the last use of the functions above, except for
	// a call that has been left behind.
	OnClose func()

	hasDB bool // a URL names the database, even if it is 0
}

// settle checks the configuration, gives the address its one form and lets the options
// overrule what they set.
func (c *Config) settle(o *options) error {
	if err := c.settleAddr(); err != nil {
		return err
	}
	err := c.settleLogin(o)
	if err == nil {
		err = o.tlsFor(c)
	}
	c.DialTimeout = cmp.Or(o.dialTimeout, c.DialTimeout, 2*time.Second)
	if err == nil {
		err = checkDialTimeout(c.DialTimeout)
	}
	c.ClientName = cmp.Or(o.clientName, c.ClientName, "redquorum")
	if err == nil {
		err = checkClientName(c.ClientName)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Addr, err)
	}
	if o.dialer != nil {
		c.Dialer = o.dialer
	}
	return nil
}

func (c *Config) settleAddr() (err error) {
	switch c.Network {
	case "", "tcp":
		c.Network = "tcp"
		host, port, err := net.SplitHostPort(c.Addr)
		if err != nil {
			host, port = strings.Trim(c.Addr, "[]"), ""
		}
		c.Addr, err = address(cmp.Or(host, "localhost"), port)
		return err
	case "unix":
		if c.Addr == "" {
			return errors.New("no socket path")
		}
		return checkPath(c.Addr)
	}
	return fmt.Errorf("network %q: want tcp or unix", c.Network)
}

// settleLogin settles user, password and database.
func (c *Config) settleLogin(o *options) error {
	switch {
	case o.hasAuth:
		c.Username, c.Password, c.Credentials = o.username, o.password, nil
	case o.credentials != nil:
		c.Credentials = o.credentials
	case c.Username != "" && c.Password == "" && c.Credentials == nil:
		return errors.New("a user without a password")
	}
	switch {
	case c.DB < 0:
		return fmt.Errorf("database %d: want 0 or more", c.DB)
	case (c.hasDB || c.DB != 0) && o.hasDB && c.DB != o.db:
		return fmt.Errorf("database %d in the URL, %d in WithDatabase", c.DB, o.db)
	case o.hasDB:
		c.DB = o.db
	}
	return nil
}
