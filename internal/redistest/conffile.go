package redistest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// harnessUser is the user that a server with an ACL gets for Dial and Do.
const harnessUser = "redistest-harness"

// layout is where the files of one server live. Everything lies below root, but
// for a socket whose path would be too long there.
type layout struct {
	root      string // removed by Close
	socketDir string // removed by Close; root, or a shorter one
}

func (l layout) data() string   { return filepath.Join(l.root, "data") }
func (l layout) log() string    { return filepath.Join(l.root, "log") }
func (l layout) conf() string   { return filepath.Join(l.root, "redis.conf") }
func (l layout) acl() string    { return filepath.Join(l.root, "users.acl") }
func (l layout) cert() string   { return filepath.Join(l.root, "server.crt") }
func (l layout) key() string    { return filepath.Join(l.root, "server.key") }
func (l layout) ca() string     { return filepath.Join(l.root, "ca.crt") }
func (l layout) shim() string   { return filepath.Join(l.root, "clock.so") }
func (l layout) clock() string  { return filepath.Join(l.root, "clock") }
func (l layout) socket() string { return filepath.Join(l.socketDir, "s") }

// maxSocketPath is what sun_path holds on every system, without the final zero:
// 107 on Linux, 103 on the BSDs.
const maxSocketPath = 103

// newLayout makes the directories; after an error none is left.
func newLayout(unixSocket bool) (_ layout, err error) {
	root, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return layout{}, err
	}
	l := layout{root: root, socketDir: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.remove())
		}
	}()
	if err := os.Mkdir(l.data(), 0o700); err != nil {
		return layout{}, err
	}
	if unixSocket && len(l.socket()) > maxSocketPath {
		// A test's TMPDIR may be as long as it likes.
		short, err := os.MkdirTemp("/tmp", "rt")
		if err != nil {
			return layout{}, fmt.Errorf("a directory short enough for a unix socket: %w", err)
		}
		l.socketDir = short
	}
	return l, nil
}

func (l layout) remove() error {
	return errors.Join(os.RemoveAll(l.socketDir), os.RemoveAll(l.root))
}

// emptyData removes the data set with everything else in the data directory.
func (l layout) emptyData() error {
	if err := os.RemoveAll(l.data()); err != nil {
		return err
	}
	return os.Mkdir(l.data(), 0o700)
}

// conf returns the server's configuration file. A file rather than arguments, so
// that a password does not show in the process list.
func (c *Config) conf(l layout, port int) string {
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
		set("tls-cert-file", l.cert())
		set("tls-key-file", l.key())
		set("tls-ca-cert-file", l.ca())
		set("tls-auth-clients", "no")
	}
	if c.UnixSocket {
		set("unixsocket", l.socket())
		set("unixsocketperm", "700")
	}
	set("dir", l.data())
	set("save", "")
	if c.AppendOnly == AppendOff {
		set("appendonly", "no")
	} else {
		set("appendonly", "yes")
		set("appendfsync", c.AppendOnly)
	}
	// No rewrite of its own accord: it forks, and the child would outlive a kill
	// for a moment, in a directory that is to be removed.
	set("auto-aof-rewrite-percentage", 0)
	policy := c.MaxMemoryPolicy
	if policy == "" {
		policy = "noeviction"
	}
	set("maxmemory-policy", policy)
	if len(c.ACL) > 0 {
		set("aclfile", l.acl())
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
