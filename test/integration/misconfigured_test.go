package integration

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// Passwords must never show in an error.
const (
	rightPassword = "correct-horse"
	wrongPassword = "battery-staple"
)

// A mistake is a way in which a master's configuration and the client's do not fit together.
type mistake struct {
	name string
	bad  redistest.Config // the masters that do not fit
	good redistest.Config
	// url turns the URL of a master that does not fit into the client's.
	url  func(u *url.URL)
	opts []redlock.Option
	// says are texts of which the error must have one; nil: none is needed.
	says []string
	// guess: the error only hints at it, because the master might as well be starting.
	guess bool
}

// wrongPasswordSays returns the text with which a server refuses a password. Servers without ACL
// have no code for that. They answer withoutACL, which may be about more than the password if a
// user is named.
func wrongPasswordSays(withoutACL string) []string {
	if redistest.Missing(redistest.ACL) != nil {
		return []string{withoutACL}
	}
	return []string{"WRONGPASS"}
}

func mistakes(t *testing.T) []mistake {
	t.Helper()
	authority, stranger := newAuthority(t), newAuthority(t)
	trusting := redlock.WithPool(pool.WithTLS(authority.ClientConfig()))
	return []mistake{
		{
			name: "wrong password",
			bad:  redistest.Config{Password: rightPassword},
			url:  func(u *url.URL) { u.User = url.UserPassword("", wrongPassword) },
			says: wrongPasswordSays("ERR invalid password"),
		},
		{
			name: "no password",
			bad:  redistest.Config{Password: rightPassword},
			url:  func(u *url.URL) { u.User = nil },
			says: []string{"NOAUTH"},
		},
		{
			name: "a password where none is set, for a user that is not known",
			url:  func(u *url.URL) { u.User = url.UserPassword("nobody", wrongPassword) },
			says: wrongPasswordSays("ERR wrong number of arguments"),
		},
		{
			name: "a user without permission for SET",
			bad: redistest.Config{
				ACL:      []string{"user default off", "user reader on >" + rightPassword + " ~* &* +@all -set"},
				Username: "reader", Password: rightPassword,
			},
			says: []string{"NOPERM"},
		},
		{
			name: "a user without permission for the key",
			bad: redistest.Config{
				ACL:      []string{"user default off", "user elsewhere on >" + rightPassword + " ~other:* &* +@all"},
				Username: "elsewhere", Password: rightPassword,
			},
			says: []string{"NOPERM"},
		},
		{
			name: "a database that there is not",
			url:  func(u *url.URL) { u.Path = "/99" },
			says: []string{"SELECT 99", "out of range"},
		},
		{
			name:  "the master speaks TLS, the client does not",
			bad:   redistest.Config{TLS: authority},
			url:   func(u *url.URL) { u.Scheme = "redis" },
			says:  []string{"TLS"},
			guess: true,
		},
		{
			name:  "the client speaks TLS, the master does not",
			good:  redistest.Config{TLS: authority},
			url:   func(u *url.URL) { u.Scheme = "rediss" },
			opts:  []redlock.Option{trusting},
			says:  []string{"TLS"},
			guess: true,
		},
		{
			name: "a certificate of an authority that is not trusted",
			bad:  redistest.Config{TLS: stranger},
			good: redistest.Config{TLS: authority},
			opts: []redlock.Option{trusting},
			says: []string{"certificate"},
		},
		{
			name: "a certificate is asked for, and the client has none",
			bad:  redistest.Config{TLS: authority, Args: []string{"--tls-auth-clients", "yes"}},
			good: redistest.Config{TLS: authority},
			opts: []redlock.Option{redlock.WithPool(pool.WithTLS(withoutCertificate(authority)))},
			// In TLS 1.3 the client's handshake ends before the master has looked. Its refusal may
			// be lost with the connection.
			says: nil,
		},
	}
}

// If two of five masters are misconfigured, the others grant the lock. If three are, the error
// names each with its mistake, as a configuration error, and without a secret.
func TestMisconfiguredMastersAreNamedAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			p := join(t, redistest.Start(t, 3, m.bad), redistest.Start(t, 3, m.good))
			var bad, good []string
			for i, raw := range p.urls {
				u, err := url.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				if i >= 3 {
					good = append(good, raw)
					continue
				}
				if m.url != nil {
					m.url(u)
				}
				bad = append(bad, u.String())
			}
			ctx := context.Background()
			opts := append([]redlock.Option{redlock.WithTTL(longTTL), reconnectSoon()}, m.opts...)

			c := openURLs(t, slices.Concat(good, bad[:2]), append(opts, redlock.WithPool(pool.WithCommandTimeout(patience)))...)
			l := mustTry(t, c, "lock")
			if err := l.Extend(ctx); err != nil {
				t.Errorf("Extend with three masters that fit: %v", err)
			}
			mustUnlock(t, l)
			p.wantFree("lock")

			c = openURLs(t, slices.Concat(bad, good[:2]), opts...)
			eventually(t, "the two that fit are connected", func() bool {
				masters := c.Masters()
				return masters[3].Connected && masters[4].Connected
			})
			var unnamed error
			allNamed := func() bool {
				_, err := c.TryLock(ctx, "lock")
				wantExactly(t, "TryLock with two masters that fit", err, redlock.ErrNoQuorum)
				unnamed = notNamed(t, p, err, m)
				return unnamed == nil
			}
			// Some mistakes show only when a dial has timed out, after 2 s.
			for deadline := time.Now().Add(settleBound / 2); !allNamed(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Error(unnamed)
					break
				}
			}
			p.wantFree("lock")
		})
	}
}

// notNamed returns how an error fails to name each of the first three masters for a configuration
// error, or a guess at one, with one of the texts.
func notNamed(t *testing.T, p *processes, err error, m mistake) error {
	t.Helper()
	for _, secret := range []string{rightPassword, wrongPassword} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a password shows in %v", err)
		}
	}
	var errs []error
	named := causes(t, err)
	for i := range 3 {
		cause := named[p.servers[i].Addr()]
		if cause == nil {
			errs = append(errs, fmt.Errorf("master %d is misconfigured and not named: %w", i, err))
			continue
		}
		if m.says == nil {
			continue
		}
		if _, ok := errors.AsType[*pool.ConfigError](cause); !ok && !m.guess {
			errs = append(errs, fmt.Errorf("master %d is named for %q, which is no *pool.ConfigError", i, cause))
		}
		if !slices.ContainsFunc(m.says, func(word string) bool { return strings.Contains(cause.Error(), word) }) {
			errs = append(errs, fmt.Errorf("master %d is named for %q, want one of %q in it", i, cause, m.says))
		}
	}
	return errors.Join(errs...)
}
