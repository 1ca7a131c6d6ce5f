package pool

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// configsOf is what New would make of URLs and options, without connecting.
func configsOf(urls []string, opts ...Option) ([]pipeline.Config, error) {
	o := defaults()
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	configs := make([]Config, len(urls))
	for i, raw := range urls {
		var err error
		if configs[i], err = parseURL(raw); err != nil {
			return nil, err
		}
	}
	return o.configs("master URL", configs)
}

func configOf(t *testing.T, url string, opts ...Option) pipeline.Config {
	t.Helper()
	configs, err := configsOf([]string{url}, opts...)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return configs[0]
}

func TestOptionsAreCheckedAgainstTheirLimits(t *testing.T) {
	const ms, minute = time.Millisecond, time.Minute
	const name64 = "!~xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	for name, test := range map[string]struct {
		good []Option
		bad  map[string]Option // by the text of the error after the name
	}{
		"WithDialTimeout": {[]Option{WithDialTimeout(10 * ms), WithDialTimeout(minute)}, map[string]Option{
			"dial timeout 9.999999ms: want 10ms to 1m0s":     WithDialTimeout(10*ms - 1),
			"dial timeout 1m0.000000001s: want 10ms to 1m0s": WithDialTimeout(minute + 1),
		}},
		"WithCommandTimeout": {[]Option{WithCommandTimeout(ms), WithCommandTimeout(minute)}, map[string]Option{
			"999.999µs: want 1ms to 1m0s":      WithCommandTimeout(ms - 1),
			"1m0.000000001s: want 1ms to 1m0s": WithCommandTimeout(minute + 1),
		}},
		"WithStallLimit": {[]Option{WithStallLimit(10 * ms), WithStallLimit(5 * minute)}, map[string]Option{
			"9.999999ms: want 10ms to 5m0s":     WithStallLimit(10*ms - 1),
			"5m0.000000001s: want 10ms to 5m0s": WithStallLimit(5*minute + 1),
		}},
		"WithBackoff": {[]Option{WithBackoff(ms, minute), WithBackoff(time.Second, time.Second)}, map[string]Option{
			"999.999µs to 1s: want 1ms to 1m0s, rising":      WithBackoff(ms-1, time.Second),
			"1s to 999.999999ms: want 1ms to 1m0s, rising":   WithBackoff(time.Second, time.Second-1),
			"1s to 1m0.000000001s: want 1ms to 1m0s, rising": WithBackoff(time.Second, minute+1),
		}},
		"WithQueueLimit": {[]Option{WithQueueLimit(16), WithQueueLimit(16_777_216)}, map[string]Option{
			"15: want 16 to 16777216":       WithQueueLimit(15),
			"16777217: want 16 to 16777216": WithQueueLimit(16_777_217),
		}},
		"WithDatabase": {[]Option{WithDatabase(0), WithDatabase(1 << 20)}, map[string]Option{"-1: want 0 or more": WithDatabase(-1)}},
		"WithClientName": {[]Option{WithClientName("x"), WithClientName(name64)}, map[string]Option{
			`client name "": want 1 to 64 bytes of printable ASCII without spaces`: WithClientName(""),
			`client name "` + name64 + `x": want`:                                  WithClientName(name64 + "x"),
			`client name "a b": want`:                                              WithClientName("a b"),
			`client name "\x7f": want`:                                             WithClientName("\x7f"),
		}},
		"WithAuth":        {[]Option{WithAuth("", "pw"), WithAuth("me", "pw")}, map[string]Option{"the password is empty": WithAuth("me", "")}},
		"WithCredentials": {nil, map[string]Option{"the callback is nil": WithCredentials(nil)}},
		"WithTLS":         {nil, map[string]Option{"the configuration is nil": WithTLS(nil)}},
		"WithDialer":      {nil, map[string]Option{"the function is nil": WithDialer(nil)}},
		"WithLogger":      {[]Option{WithLogger(nil)}, nil},
	} {
		for i, opt := range test.good {
			if _, err := configsOf([]string{"rediss://h"}, opt); err != nil {
				t.Errorf("%s, good value %d: %v", name, i, err)
			}
		}
		for want, opt := range test.bad {
			_, err := New([]string{"redis://h"}, opt)
			if err == nil || !strings.HasPrefix(err.Error(), "pool: "+name+": "+want) {
				t.Errorf("%v, want %s: %s", err, name, want)
				continue
			}
			mustBeOneLine(t, err)
		}
	}
	if _, err := New([]string{"redis://h"}, nil); err == nil || err.Error() != "pool: an option is nil" {
		t.Errorf("a nil option: %v", err)
	}
}

func TestDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	got := configOf(t, "redis://h")
	if got.Name != "h:6379" || got.Network != "tcp" || got.Addr != "h:6379" || got.TLS != nil || got.Username != "" || got.Password != "" ||
		got.Credentials != nil || got.DB != 0 || got.ClientName != "redquorum" || got.DialTimeout != 2*time.Second ||
		got.StallLimit != time.Second || got.MinBackoff != 10*time.Millisecond || got.MaxBackoff != time.Second || got.QueueLimit != 65_536 {
		t.Errorf("%+v", got)
	}
	if want := len(script.All); len(got.Scripts) != want {
		t.Errorf("%d scripts are loaded at a dial, want %d", len(got.Scripts), want)
	}
}

func TestOptionsReachTheMasters(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	got := configOf(t, "redis://h", WithAuth("me", "pw"), WithDatabase(3), WithClientName("name"), WithDialTimeout(time.Second),
		WithStallLimit(3*time.Second), WithBackoff(time.Second, 2*time.Second), WithQueueLimit(99), WithLogger(logger))
	if got.Username != "me" || got.Password != "pw" || got.DB != 3 || got.ClientName != "name" || got.DialTimeout != time.Second ||
		got.StallLimit != 3*time.Second || got.MinBackoff != time.Second || got.MaxBackoff != 2*time.Second || got.QueueLimit != 99 || !got.Deliverer.LogsTo(logger) {
		t.Errorf("%+v", got)
	}
}

func TestTheStallLimitFollowsTheCommandTimeout(t *testing.T) {
	for _, test := range []struct {
		opts []Option
		want time.Duration
	}{
		{[]Option{WithCommandTimeout(500 * time.Millisecond)}, time.Second},
		{[]Option{WithCommandTimeout(501 * time.Millisecond)}, 1002 * time.Millisecond},
		{[]Option{WithCommandTimeout(time.Minute), WithStallLimit(10 * time.Millisecond)}, 10 * time.Millisecond},
	} {
		if got := configOf(t, "redis://h", test.opts...).StallLimit; got != test.want {
			t.Errorf("%d options: %v, want %v", len(test.opts), got, test.want)
		}
	}
}

func TestWithDatabaseMustAgreeWithTheURLs(t *testing.T) {
	for _, test := range []struct {
		url  string
		db   int
		want string // "": accepted
	}{
		{"redis://h", 3, ""},
		{"redis://h/0", 0, ""},
		{"unix:///s?db=3", 3, ""},
		{"redis://me:pw@h/0", 3, "master URL 1: h:6379: database 0 in the URL, 3 in WithDatabase"},
		{"redis://h/3", 0, "master URL 1: h:6379: database 3 in the URL, 0 in WithDatabase"},
	} {
		configs, err := configsOf([]string{test.url}, WithDatabase(test.db))
		switch {
		case test.want == "" && (err != nil || configs[0].DB != test.db):
			t.Errorf("%s with %d: %+v, %v", test.url, test.db, configs, err)
		case test.want != "" && (err == nil || err.Error() != test.want):
			t.Errorf("%s with %d: %v, want %s", test.url, test.db, err, test.want)
		}
	}
}

func TestTLSMustAgreeWithTheSchemes(t *testing.T) {
	cfg := &tls.Config{ServerName: "given", MinVersion: tls.VersionTLS13}
	if c := configOf(t, "rediss://h"); c.TLS == nil || c.TLS.MinVersion != tls.VersionTLS12 || c.TLS.InsecureSkipVerify || c.TLS.RootCAs != nil {
		t.Errorf("rediss:// alone: %+v", c.TLS)
	}
	c := configOf(t, "rediss://h", WithTLS(cfg))
	if c.TLS == nil || c.TLS.ServerName != "given" || c.TLS.MinVersion != tls.VersionTLS13 {
		t.Errorf("with WithTLS: %+v", c.TLS)
	}
	if c := configOf(t, "redis://h"); c.TLS != nil {
		t.Errorf("redis://: %+v", c.TLS)
	}
	const want = "master URL 2: b:6379: WithTLS is given but the URL is redis://: want rediss://"
	if _, err := configsOf([]string{"rediss://a", "redis://me:pw@b"}, WithTLS(cfg)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	// A socket on the same machine needs none.
	configs, err := configsOf([]string{"rediss://a", "unix:///s"}, WithTLS(cfg))
	if err != nil || configs[0].TLS == nil || configs[1].TLS != nil {
		t.Errorf("%+v, %v", configs, err)
	}
}

// Neither the caller nor another master can change it afterwards.
func TestTheTLSConfigurationIsCopied(t *testing.T) {
	cfg := &tls.Config{ServerName: "given"} //nolint:gosec // not used
	configs, err := configsOf([]string{"rediss://a", "rediss://b"}, WithTLS(cfg))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ServerName = "changed"
	configs[0].TLS.NextProtos = []string{"x"}
	for i, c := range configs {
		if c.TLS.ServerName != "given" || i == 1 && c.TLS.NextProtos != nil {
			t.Errorf("%s: ServerName %q, NextProtos %v", c.Name, c.TLS.ServerName, c.TLS.NextProtos)
		}
	}
}

func TestEveryMasterIsGivenOnce(t *testing.T) {
	for _, test := range []struct {
		urls []string
		want string // "": accepted
	}{
		{[]string{"redis://a", "redis://b", "redis://a:6380"}, ""},
		{[]string{"unix:///a", "unix:///A", "redis://a"}, ""},
		{[]string{"redis://b", "redis://a", "redis://A:6379/"}, "master URL 3: a:6379 is already master 2: every master must be given once"},
		{[]string{"redis://a:6379/1", "redis://a:6379/2"}, "master URL 2: a:6379 is already master 1: every master must be given once"},
		{[]string{"redis://a", "rediss://me:pw@a"}, "master URL 2: a:6379 is already master 1: every master must be given once"},
		{[]string{"unix:///s", "unix://:pw@/s?db=1"}, "master URL 2: /s is already master 1: every master must be given once"},
	} {
		_, err := configsOf(test.urls)
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%v: %v, want %q", test.urls, err, test.want)
		}
	}
}

func TestTheNumberOfMastersHasLimits(t *testing.T) {
	var urls []string
	for i := range MaxMasters + 1 {
		urls = append(urls, fmt.Sprintf("redis://h:%d", 7001+i))
	}
	for n, want := range map[int]string{
		0:              "pool: 0 master URLs given: want 1 to 63",
		MaxMasters + 1: "pool: 64 master URLs given: want 1 to 63",
	} {
		if _, err := New(urls[:n]); err == nil || err.Error() != want {
			t.Errorf("%d masters: %v, want %s", n, err, want)
		}
	}
	for _, n := range []int{1, MaxMasters} {
		if configs, err := configsOf(urls[:n]); err != nil || len(configs) != n {
			t.Errorf("%d masters: %d, %v", n, len(configs), err)
		}
	}
}

func TestAPasswordAndACallbackForItAreOneTooMany(t *testing.T) {
	callback := WithCredentials(func(context.Context) (string, string, error) { return "me", "pw", nil })
	for _, opts := range [][]Option{{WithAuth("me", "pw"), callback}, {callback, WithAuth("me", "pw")}} {
		_, err := configsOf([]string{"redis://h"}, opts...)
		if err == nil || err.Error() != "WithAuth and WithCredentials are both given: want one of them" {
			t.Errorf("error %v", err)
		}
	}
}
