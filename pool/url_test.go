package pool

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// A target is what a URL says of a master, in a form that can be compared.
type target struct {
	network, addr           string
	tls, skipVerify         bool
	username, password      string
	hasDB                   bool
	db                      int
	dialTimeout, clientName string
}

func targetOf(raw string) (target, error) {
	c, err := parseURL(raw)
	t := target{
		network: c.Network, addr: c.Addr, tls: c.TLS != nil, skipVerify: c.TLS != nil && c.TLS.InsecureSkipVerify,
		username: c.Username, password: c.Password, hasDB: c.hasDB, db: c.DB, clientName: c.ClientName,
	}
	if c.DialTimeout != 0 {
		t.dialTimeout = c.DialTimeout.String()
	}
	return t, err
}

func TestGoodURLs(t *testing.T) {
	for raw, want := range map[string]target{
		"redis://localhost":                   {network: "tcp", addr: "localhost:6379"},
		"REDIS://LocalHost:07001/":            {network: "tcp", addr: "localhost:7001"},
		"redis://localhost:":                  {network: "tcp", addr: "localhost:6379"},
		"redis://h/0":                         {network: "tcp", addr: "h:6379", hasDB: true},
		"redis://h/?db=3":                     {network: "tcp", addr: "h:6379", hasDB: true, db: 3},
		"redis://h/2147483647":                {network: "tcp", addr: "h:6379", hasDB: true, db: 2147483647},
		"redis://[FE80::1%25eth0]:7001":       {network: "tcp", addr: "[fe80::1%eth0]:7001"},
		"redis://me:pw@h":                     {network: "tcp", addr: "h:6379", username: "me", password: "pw"},
		"redis://m%65:p%40%3A%2F%23%25%3Fw@h": {network: "tcp", addr: "h:6379", username: "me", password: "p@:/#%?w"},
		"redis://me:p:w@h":                    {network: "tcp", addr: "h:6379", username: "me", password: "p:w"},
		"rediss://h":                          {network: "tcp", addr: "h:6379", tls: true},
		"unix:/run/redis.sock":                {network: "unix", addr: "/run/redis.sock"},
		"unix:///run/Redis%20%40%231.sock":    {network: "unix", addr: "/run/Redis @#1.sock"},
		"unix://me:pw@/run/redis.sock?db=2":   {network: "unix", addr: "/run/redis.sock", username: "me", password: "pw", hasDB: true, db: 2},
		"tcp://:pw@h:7001/1":                  {network: "tcp", addr: "h:7001", password: "pw", hasDB: true, db: 1},
		"valkeys://h":                         {network: "tcp", addr: "h:6379", tls: true},
		" redis://h\n": { //nolint:gocritic // what is tested
			network: "tcp", addr: "h:6379",
		},
		"redis://h?dial_timeout=5s":           {network: "tcp", addr: "h:6379", dialTimeout: "5s"},
		"redis://h/1?dial_timeout=3":          {network: "tcp", addr: "h:6379", dialTimeout: "3s", hasDB: true, db: 1},
		"redis://h?client_name=x&pool_size=9": {network: "tcp", addr: "h:6379", clientName: "x"},
		"redis://:p,w@h":                      {network: "tcp", addr: "h:6379", password: "p,w"},
		"rediss://h?skip_verify=true":         {network: "tcp", addr: "h:6379", tls: true, skipVerify: true},
		"redis://h?skip_verify=true":          {network: "tcp", addr: "h:6379"},
	} {
		got, err := targetOf(raw)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", raw, got, err, want)
		}
	}
}

func TestBadURLs(t *testing.T) {
	for raw, want := range map[string]string{
		"":                          "no scheme",
		"//localhost":               "no scheme",
		"127.0.0.1:6379":            "no scheme: add redis:// before the address (rediss:// for TLS, unix:// for a socket)",
		":6379":                     "no scheme: add redis://",
		"http://localhost":          `scheme "http": want redis://, rediss:// or unix://`,
		"redis:localhost":           "no host",
		"redis://:6379":             "no host",
		"redis://[]:6379":           "not a valid URL",
		"redis://h:0":               `port "0": want 1 to 65535`,
		"redis://h:65536":           `port "65536": want 1 to 65535`,
		"redis://]h":                "not a valid URL",
		"redis://h/x":               `database "x": want a number, 0 or more`,
		"redis://h/-1":              `database "-1"`,
		"redis://h/1/2":             `database "1/2"`,
		"redis://h/2147483648":      `database "2147483648"`,
		"redis://h?db=":             `database ""`,
		"redis://h/1?db=1":          "two databases given",
		"redis://h?db=1&db=1":       `parameter "db": given 2 times`,
		"redis://h?dial_timeout=x":  `dial_timeout "x": want a duration such as 5s`,
		"redis://h?dial_timeout=0":  `dial_timeout "0s": want a duration such as 5s`,
		"rediss://h?skip_verify=x":  `skip_verify "x": want true or false`,
		"redis://a,redis://b":       "want one URL per element",
		"redis://a:1,b:2":           "want one URL per element",
		"redis://h?timeout=1":       `parameter "timeout"`,
		"redis://h?db=%zz":          "not a valid query",
		"redis://h#frag":            "fragment",
		"redis://me@h":              "a user without a password",
		"redis://@h":                "a user without a password",
		"redis://me:@h":             "a user without a password",
		"redis://h/0@h":             "percent-encoded",
		"unix:///":                  "no socket path",
		"unix://run/redis.sock":     "no socket path",
		"unix:///run/redis%0a.sock": "control character",
		"unix:///run/redis@1.sock":  "percent-encoded",
		"redis://h/%0a":             `database "\n"`,
	} {
		got, err := targetOf(raw)
		if err == nil {
			t.Errorf("%s: accepted as %+v, want an error with %q", raw, got, want)
			continue
		}
		if got != (target{}) {
			t.Errorf("%s: %+v beside an error", raw, got)
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, want an error with %q", raw, err, want)
		}
		mustBeOneLine(t, err)
	}
}

func mustBeOneLine(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); text == "" || len(text) > 400 || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("not one line: %q", text)
	}
}

func TestAnEscapedPasswordArrivesAsItIs(t *testing.T) {
	for _, password := range []string{"simple", "@:/#%", "a b", "100%", "ünï", "\x00\n", "?&=;", "[]", `"'\`} {
		for _, u := range []*url.URL{
			{Scheme: "redis", User: url.UserPassword("me", password), Host: "h:1"},
			{Scheme: "rediss", User: url.UserPassword("", password), Host: "h:1"},
			{Scheme: "unix", User: url.UserPassword("me", password), Path: "/s"},
		} {
			got, err := targetOf(u.String())
			if err != nil || got.password != password {
				t.Errorf("%s: password %q, %v; want %q", u, got.password, err, password)
			}
		}
	}
}

// checkTarget fails unless got is usable: every accepted URL must give such a target.
func checkTarget(t *testing.T, raw string, got target) {
	t.Helper()
	switch got.network {
	case "tcp":
		host, port, err := net.SplitHostPort(got.addr)
		n, portErr := strconv.Atoi(port)
		if err != nil || host == "" || portErr != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
			t.Errorf("%q: address %q", raw, got.addr)
		}
		if host != strings.ToLower(host) {
			t.Errorf("%q: address %q is not in lower case", raw, got.addr)
		}
	case "unix":
		if got.tls || len(got.addr) < 2 || got.addr[0] != '/' {
			t.Errorf("%q: %+v", raw, got)
		}
	default:
		t.Errorf("%q: network %q", raw, got.network)
	}
	if strings.ContainsFunc(got.addr, unicode.IsControl) {
		t.Errorf("%q: address %q", raw, got.addr)
	}
	if got.db < 0 || got.db > 0 && !got.hasDB {
		t.Errorf("%q: database %d, given %t", raw, got.db, got.hasDB)
	}
	if got.username != "" && got.password == "" {
		t.Errorf("%q: user %q without a password", raw, got.username)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, raw := range []string{
		"redis://me:pw@host:7001/1?db=2", "rediss://[::1]:1", "unix:///run/redis.sock?db=1", "unix://:pw@/s", "redis://h#f", "redis:h",
		"http://h", "redis://h:0", "redis://h/x", "redis://%zz", "redis://h?db=%zz", "redis://me:1/2@h", "", "://", "redis://[fe80::1%25x]",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := targetOf(raw)
		if err == nil {
			checkTarget(t, raw, got)
			return
		}
		if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q: %q is not one line", raw, err)
		}
	})
}

// FuzzPassword puts a password into URLs as people do, without escaping it. If the result is no
// URL, or not what they meant, the error says what to do and repeats nothing.
func FuzzPassword(f *testing.F) {
	const secret = "S3CR3T"
	for _, around := range []string{
		"", "@", "%", "%zz", ":", "/", "#", "?", "[", "]", " ", "\n", "\x00", "1/", "1#", "1?", "1?db=", "1?db=1&", "99999/", "99999999/", "1/1?", "12@34/", "/1/",
		"/1", "?1", "#1", "?" + secret + "=1", "/" + secret + "@", "@@",
	} {
		f.Add(around, "")
		f.Add("", around)
		f.Add(around, around)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		password := before + secret + after
		for _, form := range []string{
			"redis://me:%s@host:7001/1", "redis://:%s@host", "rediss://me:%s@host:7001/1?db=1", "redis://me:%s@host/x", "redis://me:%s@host:0",
			"unix://me:%s@/run/redis.sock?db=1", "unix:///me:%s@/run/redis.sock", "unix:/me:%s@/run/redis.sock", "redis:/me:%s@host", "redis:me:%s@host",
			"me:%s@host:7001", ":%s@host:7001", "http://me:%s@host", "//me:%s@host", "redis:///me:%s@host", "unix://me:%s@run/redis.sock",
		} {
			raw := strings.Replace(form, "%s", password, 1)
			got, err := targetOf(raw)
			shown := got.network + got.addr
			if err != nil {
				shown = err.Error()
				mustBeOneLine(t, err)
				// The error of the constructor names position and address alone.
				if _, err := New([]string{"redis://other", raw}); !strings.HasPrefix(err.Error(), "pool: master URL 2: ") || strings.Contains(strings.ToUpper(err.Error()), secret) {
					t.Errorf("%q: %v", raw, err)
				}
			} else if checkTarget(t, raw, got); got.password == "" {
				t.Errorf("%q: accepted without its password: %+v", raw, got)
			}
			if strings.Contains(strings.ToUpper(shown), secret) {
				t.Errorf("%q: shows %q", raw, shown)
			}
		}
	})
}
