package redistest

import (
	"fmt"
	"strings"
)

// AppendOnly says whether and how a server keeps an append-only file.
type AppendOnly string

// The accepted values of AppendOnly.
const (
	AppendOff      AppendOnly = ""         // no file: a restart forgets everything
	AppendEverySec AppendOnly = "everysec" // fsync every second
	AppendAlways   AppendOnly = "always"   // fsync before every reply
)

// Config describes a server. The zero value is a plain master: no persistence,
// no password, TCP on a random loopback port, maxmemory-policy noeviction.
type Config struct {
	// Member makes it a member of a Redis Cluster, by itself and without slots.
	Member bool

	// AppendOnly is AppendOff, AppendEverySec or AppendAlways.
	AppendOnly AppendOnly

	// MaxMemoryPolicy is Redis' maxmemory-policy; empty means noeviction.
	MaxMemoryPolicy string

	// Password without ACL is the default user's (requirepass). With ACL it is
	// the password that URL carries, for Username, and ACL must have set it.
	Password string

	// ACL holds the lines of an ACL file, such as "user locker on >secret ~* +@all". The server
	// gets one more user, with every permission and a random password, for Dial, Do and its own
	// start. As in every ACL file, a default user that is not listed has no password and every
	// permission; "user default off" disables it.
	ACL []string

	// Username is the user that URL names; only together with ACL and Password.
	Username string

	// TLS, if not nil, makes the server speak TLS only, with a certificate of
	// this authority. It does not ask clients for certificates; with Args
	// "--tls-auth-clients", "yes" it does.
	TLS *Authority

	// UnixSocket makes the server listen on a unix socket as well; URL is then
	// that of the socket.
	UnixSocket bool

	// MovableClock makes SetClock work: the server's wall clock can be moved
	// while it runs. It needs Linux and a C compiler, see ClockAvailable.
	MovableClock bool

	// Args are further arguments, such as "--maxmemory", "100mb". They override the
	// defaults, but must not set what the fields above or this package set.
	Args []string
}

// harnessUser is the user that a server with an ACL gets for Dial and Do.
const harnessUser = "redistest-harness"

// file returns the server's configuration file. A file rather than arguments, so that a
// password does not show in the process list.
func (c *Config) file(l layout, port int) string {
	var b strings.Builder
	set := func(directive string, value any) {
		fmt.Fprintf(&b, "%s %s\n", directive, quote(fmt.Sprint(value)))
	}
	set("bind", "127.0.0.1")
	if c.TLS == nil {
		set("port", port)
	} else {
		set("port", 0)
		set("tls-port", port)
		set("tls-cert-file", l.file("server.crt"))
		set("tls-key-file", l.file("server.key"))
		set("tls-ca-cert-file", l.file("ca.crt"))
		set("tls-auth-clients", "no")
	}
	if c.UnixSocket {
		set("unixsocket", l.socket())
		set("unixsocketperm", "700")
	}
	if c.Member {
		set("cluster-enabled", "yes")
	}
	set("dir", l.data())
	set("save", "")
	if c.AppendOnly == AppendOff {
		set("appendonly", "no")
	} else {
		set("appendonly", "yes")
		set("appendfsync", c.AppendOnly)
	}
	// No automatic rewrite: it forks, and the child would outlive a kill for a moment, in a
	// directory that is to be removed.
	set("auto-aof-rewrite-percentage", 0)
	policy := c.MaxMemoryPolicy
	if policy == "" {
		policy = "noeviction"
	}
	set("maxmemory-policy", policy)
	if len(c.ACL) > 0 {
		set("aclfile", l.file("users.acl"))
	} else if c.Password != "" {
		set("requirepass", c.Password)
	}
	return b.String()
}

// quote writes s so that Redis reads it back byte for byte: it splits its
// configuration as redis-cli splits a line, with \xHH in double quotes.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
