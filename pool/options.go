package pool

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/deliver"
)

// An Option sets something for all masters of a pool. It is checked by [New].
type Option func(*options) error

type options struct {
	hasAuth            bool
	username, password string
	credentials        func(context.Context) (string, string, error)
	tls                *tls.Config
	hasDB              bool
	db                 int
	clientName         string
	dialer             func(context.Context, string, string) (net.Conn, error)
	dialTimeout        time.Duration
	commandTimeout     time.Duration
	stallLimit         time.Duration
	minBackoff         time.Duration
	maxBackoff         time.Duration
	queueLimit         int
	logger             *slog.Logger
	chance             *chance.Source // nil except in simulations
	yield              func(master int)
}

func defaults() options {
	return options{
		minBackoff: 10 * time.Millisecond,
		maxBackoff: time.Second,
		queueLimit: 1 << 16,
		logger:     deliver.Warnings(),
	}
}

// stall is the stall limit: given, or twice the command timeout but at least a second.
func (o *options) stall() time.Duration {
	if o.stallLimit != 0 {
		return o.stallLimit
	}
	return max(time.Second, 2*o.commandTimeout)
}

// tlsFor lets WithTLS overrule the configuration of a master that has one. Either of the two can
// switch off the verification of certificates.
func (o *options) tlsFor(c *Config) error {
	if c.TLS == nil {
		if o.tls != nil && c.Network != "unix" {
			return errors.New("WithTLS is given but the URL is redis://: want rediss://")
		}
		return nil
	}
	skip := c.TLS.InsecureSkipVerify
	c.TLS = cmp.Or(o.tls, c.TLS).Clone()
	c.TLS.InsecureSkipVerify = c.TLS.InsecureSkipVerify || skip
	return nil
}

// WithAuth sets the ACL user and password for all masters; an empty user is the
// default one. It overrules credentials in URLs.
func WithAuth(username, password string) Option {
	return func(o *options) error {
		if password == "" {
			return errors.New("WithAuth: the password is empty")
		}
		o.hasAuth, o.username, o.password = true, username, password
		return nil
	}
}

// WithCredentials asks for user and password at every dial, for passwords that rotate. The callback
// runs within the dial timeout, possibly for several masters at once, for one master one call at a
// time; an error fails the dial, which is tried again later. A server that has become a replica is
// dialled again and again, every 5 s at first and every minute in the end.
//
// The callback must return when its context ends. Close waits half a second for it and leaves it
// behind then; a dial that has no more time does the same, and the callback is not called again for
// that master until it has returned. A panic in it fails the dial with an error that names the
// panic.
func WithCredentials(f func(ctx context.Context) (username, password string, err error)) Option {
	return func(o *options) error {
		if f == nil {
			return errors.New("WithCredentials: the callback is nil")
		}
		o.credentials = f
		return nil
	}
}

// WithTLS sets the configuration for rediss:// URLs. Without ServerName it is the host of the URL,
// which is verified, sent as SNI, and given to VerifyConnection, also where it is an IP address.
// The default is TLS 1.2 or better with the system's certificate authorities.
func WithTLS(cfg *tls.Config) Option {
	return func(o *options) error {
		if cfg == nil {
			return errors.New("WithTLS: the configuration is nil")
		}
		o.tls = cfg.Clone()
		return nil
	}
}

// WithDatabase selects a database for all masters, 0 or more. A URL may name the
// same database, but no other.
func WithDatabase(n int) Option {
	return func(o *options) error {
		if n < 0 {
			return fmt.Errorf("WithDatabase: %d: want 0 or more", n)
		}
		o.hasDB, o.db = true, n
		return nil
	}
}

// WithClientName sets what CLIENT LIST shows on the masters; "redquorum" by
// default. Printable ASCII without spaces, 1 to 64 bytes.
func WithClientName(name string) Option {
	return func(o *options) error {
		o.clientName = name
		if err := checkClientName(name); err != nil {
			return fmt.Errorf("WithClientName: %w", err)
		}
		return nil
	}
}

func checkClientName(name string) error {
	if len(name) < 1 || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("client name %q: want 1 to 64 bytes of printable ASCII without spaces", name)
	}
	return nil
}

// WithDialer replaces net.Dialer. The function must return when its context
// ends; TLS is added on top for rediss:// URLs.
func WithDialer(f func(ctx context.Context, network, addr string) (net.Conn, error)) Option {
	return func(o *options) error {
		if f == nil {
			return errors.New("WithDialer: the function is nil")
		}
		o.dialer = f
		return nil
	}
}

// WithDialTimeout bounds one dial, TLS and handshake included: 10 ms to 1 minute, 2 s by default.
func WithDialTimeout(d time.Duration) Option {
	return func(o *options) error {
		o.dialTimeout = d
		if err := checkDialTimeout(d); err != nil {
			return fmt.Errorf("WithDialTimeout: %w", err)
		}
		return nil
	}
}

func checkDialTimeout(d time.Duration) error {
	if d < 10*time.Millisecond || d > time.Minute {
		return fmt.Errorf("dial timeout %v: want 10ms to 1m0s", d)
	}
	return nil
}

// WithCommandTimeout is how long a lock operation waits for one master: 1 ms to 1 minute. By
// default it follows from the lock's TTL: an acquisition waits for a twentieth of it, at least 50
// ms and at most 2 s. All else waits for 250 ms at most, or, where a quorum is further away, for
// two round trips to it, up to 2 s. So a TTL of 30 s is enough for masters 600 ms away. If this
// process gets no processor, so that its timers fire late, the wait is up to twice as long.
func WithCommandTimeout(d time.Duration) Option {
	return within("WithCommandTimeout", d, time.Millisecond, time.Minute, func(o *options) { o.commandTimeout = d })
}

// WithStallLimit is how long a connection may have commands under way without any progress before
// it is replaced: 10 ms to 5 minutes. By default 1 s, or twice the command timeout where that is
// longer. Round trips have to be shorter: up to 0.9 s by default.
func WithStallLimit(d time.Duration) Option {
	return within("WithStallLimit", d, 10*time.Millisecond, 5*time.Minute, func(o *options) { o.stallLimit = d })
}

// WithBackoff sets the pauses between dials of a master that cannot be reached: from least,
// doubling, to most, each halved at random. 1 ms to 1 minute; 10 ms and 1 s by default. The first
// dial after a loss has no pause. Several losses in a row, each after a quarter of a second or
// less, count as failed dials.
func WithBackoff(least, most time.Duration) Option {
	return func(o *options) error {
		if least < time.Millisecond || most < least || most > time.Minute {
			return fmt.Errorf("WithBackoff: %v to %v: want 1ms to 1m0s, rising", least, most)
		}
		o.minBackoff, o.maxBackoff = least, most
		return nil
	}
}

// WithQueueLimit bounds the commands that wait for one master or are under way to it, 16 to
// 16,777,216; 65,536 by default. Beyond it commands fail with [ErrQueueFull]. A lower limit may
// leave locks behind until their TTL is over: releases count as well.
func WithQueueLimit(n int) Option {
	return func(o *options) error {
		if n < 16 || n > 1<<24 {
			return fmt.Errorf("WithQueueLimit: %d: want 16 to %d", n, 1<<24)
		}
		o.queueLimit = n
		return nil
	}
}

// WithLogger sets where connections gained (debug) and lost (warn) are logged. By default warnings
// go to slog.Default(), as it is when they are logged; with nil nothing is logged. Credentials are
// never logged. A client that is made by redlock.Open gives its own logger to its pool.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			l = slog.New(slog.DiscardHandler)
		}
		o.logger = l
		return nil
	}
}

func within(name string, d, least, most time.Duration, set func(*options)) Option {
	return func(o *options) error {
		if d < least || d > most {
			return fmt.Errorf("%s: %v: want %v to %v", name, d, least, most)
		}
		set(o)
		return nil
	}
}
