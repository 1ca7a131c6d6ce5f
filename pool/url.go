package pool

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// errNoURL repeats no part of the URL: url.Error repeats all of it, and the error inside repeats
// the wrong part, which may be the password.
var errNoURL = errors.New(
	"not a valid URL (characters such as @ : / ? # % in a user, password or path have to be percent-encoded)")

// errNoScheme repeats nothing either.
var errNoScheme = errors.New("no scheme: add redis:// before the address (rediss:// for TLS, unix:// for a socket)")

// errSeveral repeats nothing either.
var errSeveral = errors.New("several addresses in one string: want one URL per element of the list")

// parseURL reads a master's URL. Its errors never repeat the URL, which may hold a password.
func parseURL(raw string) (Config, error) {
	raw = strings.TrimSpace(raw)
	if !hasScheme(raw) {
		return Config{}, errNoScheme
	}
	u, err := url.Parse(raw)
	host, behind := cutHost(raw)
	switch {
	case strings.Contains(raw, ",") && strings.Count(raw, "://") > 1,
		strings.Contains(host, ",") && !strings.Contains(behind, "@"):
		return Config{}, errSeveral
	// With an @ after the host, the supposed port, path or query is part of a password in which a /
	// ? or # is not percent-encoded.
	case err != nil || strings.Contains(behind, "@"):
		return Config{}, errNoURL
	}
	var c Config
	switch u.Scheme {
	case "rediss", "valkeys":
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		err = c.tcp(u)
	case "redis", "valkey", "tcp":
		err = c.tcp(u)
	case "unix":
		err = c.unix(u)
	default:
		err = fmt.Errorf("scheme %q: want redis://, rediss:// or unix://", u.Scheme)
	}
	if err != nil {
		return Config{}, err
	}
	if u.User != nil {
		var set bool
		c.Username = u.User.Username()
		if c.Password, set = u.User.Password(); !set || c.Username != "" && c.Password == "" {
			return Config{}, errors.New(
				"a user without a password: want user:password@ (or :password@ for the default user)")
		}
	}
	return c, nil
}

// hasScheme reports whether a scheme was meant: host:port alone has none, although package url may
// take the host for one.
func hasScheme(raw string) bool {
	scheme, _, ok := strings.Cut(raw, ":")
	if !ok || scheme == "" {
		return false
	}
	switch strings.ToLower(scheme) {
	case "redis", "rediss", "valkey", "valkeys", "tcp", "unix":
		return true
	}
	return strings.Contains(raw, "://")
}

// cutHost returns the host and port of a URL, and what follows them: everything if there is no
// host.
func cutHost(raw string) (host, behind string) {
	_, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return "", raw
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest, behind = rest[:i], rest[i:]
	}
	return rest[strings.LastIndex(rest, "@")+1:], behind
}

func (c *Config) tcp(u *url.URL) (err error) {
	switch {
	case u.Opaque != "":
		return fmt.Errorf("no host: want %s://host:port", u.Scheme)
	case u.Hostname() == "":
		return errors.New("no host")
	}
	c.Network = "tcp"
	if c.Addr, err = address(u.Hostname(), u.Port()); err != nil {
		return err
	}
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		if err := c.setDB(db); err != nil {
			return err
		}
	}
	return c.query(u)
}

// address returns the one form of a server's address that is used everywhere.
func address(host, port string) (string, error) {
	if port == "" {
		port = "6379"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("port %q: want 1 to 65535", port)
	}
	addr := net.JoinHostPort(strings.ToLower(host), strconv.FormatUint(n, 10))
	if _, _, err := net.SplitHostPort(addr); err != nil { // package url lets brackets pass that are no address
		return "", errNoURL
	}
	return addr, nil
}

func (c *Config) unix(u *url.URL) error {
	if u.Host != "" || u.Opaque != "" || len(u.Path) < 2 {
		return errors.New("no socket path: want unix:///path/to/socket")
	}
	c.Network, c.Addr = "unix", u.Path
	if err := checkPath(c.Addr); err != nil {
		return err
	}
	return c.query(u)
}

func checkPath(path string) error {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return errors.New("a control character in the socket path")
	}
	return nil
}

// meaningless are the parameters of go-redis that are about its pool, its retries and
// its protocol: here a master has one connection, which speaks RESP2.
var meaningless = strings.Fields(`protocol max_retries min_retry_backoff max_retry_backoff read_timeout write_timeout
	pool_fifo pool_size pool_timeout min_idle_conns max_idle_conns max_active_conns max_concurrent_dials
	pipeline_pool_size pipeline_read_buffer_size pipeline_write_buffer_size
	conn_max_idle_time idle_timeout conn_max_lifetime max_conn_age conn_max_lifetime_jitter`)

func (c *Config) query(u *url.URL) error {
	if u.Fragment != "" {
		return errors.New("unexpected fragment (a # in a password or path has to be percent-encoded)")
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("not a valid query: want ?db=n")
	}
	for name, values := range parameters {
		if len(values) != 1 {
			return fmt.Errorf("parameter %q: given %d times", name, len(values))
		}
		if err := c.parameter(name, values[0]); err != nil {
			return err
		}
	}
	return nil
}

// parameter reads one of the parameters of a URL, as go-redis does.
func (c *Config) parameter(name, value string) (err error) {
	switch {
	case name == "db" && c.hasDB:
		return errors.New("two databases given")
	case name == "db":
		return c.setDB(value)
	case slices.Contains(meaningless, name):
	case name == "client_name":
		c.ClientName = value
	case name == "dial_timeout":
		if _, err := strconv.Atoi(value); err == nil {
			value += "s"
		}
		if c.DialTimeout, err = time.ParseDuration(value); err != nil || c.DialTimeout == 0 {
			return fmt.Errorf("dial_timeout %q: want a duration such as 5s", value)
		}
	case name == "skip_verify":
		skip, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("skip_verify %q: want true or false", value)
		}
		if c.TLS != nil {
			c.TLS.InsecureSkipVerify = skip
		}
	default:
		return fmt.Errorf("parameter %q is not known: "+
			"want db, client_name, dial_timeout, skip_verify or another of go-redis", name)
	}
	return nil
}

func (c *Config) setDB(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return fmt.Errorf("database %q: want a number, 0 or more", s)
	}
	c.hasDB, c.DB = true, int(n)
	return nil
}
