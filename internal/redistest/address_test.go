package redistest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func authority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ping dials a URL as a client would that knows nothing of this package.
func ping(rawURL string, options ...redis.DialOption) error {
	ctx, cancel := context.WithTimeout(context.Background(), waitBound)
	defer cancel()
	u, err := url.Parse(rawURL)
	if err != nil {
		return err
	}
	var conn redis.Conn
	if u.Scheme == "unix" {
		if password, ok := u.User.Password(); ok {
			options = append(options, redis.DialPassword(password), redis.DialUsername(u.User.Username()))
		}
		conn, err = redis.DialContext(ctx, "unix", u.Path, options...)
	} else {
		conn, err = redis.DialURLContext(ctx, rawURL, options...)
	}
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = redis.DoContext(conn, ctx, "PING")
	return err
}

func TestTLS(t *testing.T) {
	ca := authority(t)
	s := start(t, Config{TLS: ca})
	if !strings.HasPrefix(s.URL(), "rediss://127.0.0.1:") {
		t.Errorf("URL is %s", s.URL())
	}
	trusting := redis.DialTLSConfig(&tls.Config{RootCAs: ca.Pool()})
	if err := ping(s.URL(), trusting); err != nil {
		t.Error(err)
	}
	if err := ping(strings.Replace(s.URL(), "127.0.0.1", "localhost", 1), trusting); err != nil {
		t.Errorf("by the name localhost: %v", err)
	}
	var unknown x509.UnknownAuthorityError
	if err := ping(s.URL(), redis.DialTLSConfig(authority(t).ClientConfig())); !errors.As(err, &unknown) {
		t.Errorf("with another authority: %v; want %T", err, unknown)
	}
	if err := ping("redis://" + s.Addr()); err == nil {
		t.Error("the server answers without TLS")
	}
	do(t, s, "PING")
	fromPEM := x509.NewCertPool()
	if !fromPEM.AppendCertsFromPEM(ca.PEM()) || !fromPEM.Equal(ca.Pool()) {
		t.Error("PEM and Pool are not the same authority")
	}
}

func TestUnixSocketAndPassword(t *testing.T) {
	const password = "pass \"word\\ é\x01@:/"
	s := start(t, Config{UnixSocket: true, Password: password})
	user := url.UserPassword("", password)
	if want := "unix://" + user.String() + "@" + s.files.socket(); s.URL() != want {
		t.Errorf("URL is %s; want %s", s.URL(), want)
	}
	for _, u := range []string{s.URL(), "redis://" + user.String() + "@" + s.Addr()} {
		if err := ping(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	if err := ping("redis://" + s.Addr()); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: %v; want NOAUTH", err)
	}
	restart(t, s)
	if err := ping(s.URL()); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	do(t, s, "PING")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(s.files.socket()) {
		t.Errorf("the socket %s was left behind", s.files.socket())
	}
}

func TestACL(t *testing.T) {
	s := start(t, Config{
		ACL:      []string{"user default off", "user alice on >secret ~lock:* +set +ping"},
		Username: "alice",
		Password: "secret",
	})
	if want := "redis://alice:secret@" + s.Addr(); s.URL() != want {
		t.Errorf("URL is %s; want %s", s.URL(), want)
	}
	if err := ping(s.URL()); err != nil {
		t.Error(err)
	}
	if err := ping("redis://" + s.Addr()); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("as the default user: %v; want NOAUTH", err)
	}
	conn, err := redis.DialURLContext(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Do("SET", "lock:a", "1"); err != nil {
		t.Error(err)
	}
	if _, err := conn.Do("GET", "lock:a"); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("a command that alice may not use: %v; want NOPERM", err)
	}
	// Inspection is not bound by the users under test, also after a restart.
	restart(t, s)
	if who, err := redis.String(s.Do("ACL", "WHOAMI")); err != nil || who != harnessUser {
		t.Errorf("Do acts as %q (%v); want %q", who, err, harnessUser)
	}
}
