package pool

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// A target is what a master's URL says.
type target struct {
	network, addr      string
	tls                bool
	username, password string
	hasDB              bool
	db                 int
}

// errNoURL repeats nothing: url.Error repeats the URL, and what it wraps the part
// that is wrong, which may be the password.
var errNoURL = errors.New("not a valid URL (characters such as @ : / ? # % in a user, password or path have to be percent-encoded)")

// errNoScheme repeats nothing either.
var errNoScheme = errors.New("no scheme: add redis:// before the address (rediss:// for TLS, unix:// for a socket)")

// parseURL reads a master's URL. Its errors never repeat the URL, which may
// hold a password.
func parseURL(raw string) (target, error) {
	if !hasScheme(raw) {
		return target{}, errNoScheme
	}
	u, err := url.Parse(raw)
	// With an @ behind the host, what was taken for a port, a path or a query
	// is part of a password that holds a / ? or # as it is.
	if err != nil || strings.Contains(behindHost(raw), "@") {
		return target{}, errNoURL
	}
	var t target
	switch u.Scheme {
	case "redis", "rediss":
		t.network, t.tls = "tcp", u.Scheme == "rediss"
		err = t.tcp(u)
	case "unix":
		t.network = "unix"
		err = t.unix(u)
	default:
		err = fmt.Errorf("scheme %q: want redis://, rediss:// or unix://", u.Scheme)
	}
	if err != nil {
		return target{}, err
	}
	if u.User != nil {
		var set bool
		t.username = u.User.Username()
		if t.password, set = u.User.Password(); !set || t.username != "" && t.password == "" {
			return target{}, errors.New("a user without a password: want user:password@ (or :password@ for the default user)")
		}
	}
	return t, nil
}

// hasScheme reports whether something was meant for a scheme: host:port alone is
// none, though package url may take the host for one.
func hasScheme(raw string) bool {
	scheme, _, ok := strings.Cut(raw, ":")
	if !ok || scheme == "" {
		return false
	}
	switch strings.ToLower(scheme) {
	case "redis", "rediss", "unix":
		return true
	}
	return strings.Contains(raw, "://")
}

// behindHost is what follows the authority of a URL; all of it where there is
// none.
func behindHost(raw string) string {
	_, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return raw
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[i:]
	}
	return ""
}

func (t *target) tcp(u *url.URL) error {
	switch {
	case u.Opaque != "":
		return fmt.Errorf("no host: want %s://host:port", u.Scheme)
	case u.Hostname() == "":
		return errors.New("no host")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %q: want 1 to 65535", port)
	}
	t.addr = net.JoinHostPort(strings.ToLower(u.Hostname()), strconv.FormatUint(n, 10))
	if _, _, err := net.SplitHostPort(t.addr); err != nil { // package url lets brackets pass that are no address
		return errNoURL
	}
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		if err := t.setDB(db); err != nil {
			return err
		}
	}
	return t.query(u)
}

func (t *target) unix(u *url.URL) error {
	if u.Host != "" || u.Opaque != "" || len(u.Path) < 2 {
		return errors.New("no socket path: want unix:///path/to/socket")
	}
	if strings.ContainsFunc(u.Path, unicode.IsControl) {
		return errors.New("a control character in the socket path")
	}
	t.addr = u.Path
	return t.query(u)
}

// query reads ?db=n, the only parameter.
func (t *target) query(u *url.URL) error {
	if u.Fragment != "" {
		return errors.New("unexpected fragment (a # in a password or path has to be percent-encoded)")
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("not a valid query: want ?db=n")
	}
	for name, values := range parameters {
		if name != "db" || len(values) != 1 {
			return fmt.Errorf("parameter %q: only one db=n is known", name)
		}
		if t.hasDB {
			return errors.New("two databases given")
		}
		if err := t.setDB(values[0]); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) setDB(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return fmt.Errorf("database %q: want a number, 0 or more", s)
	}
	t.hasDB, t.db = true, int(n)
	return nil
}
