package redistest

import (
	"fmt"
	"slices"
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
	// Port to listen on, 1 to 65535. 0 chooses a free one, and another if that
	// was taken by someone else before the server could bind it.
	Port int

	// AppendOnly is AppendOff, AppendEverySec or AppendAlways.
	AppendOnly AppendOnly

	// MaxMemoryPolicy is Redis' maxmemory-policy; empty means noeviction.
	MaxMemoryPolicy string

	// Password without ACL is the default user's (requirepass). With ACL it is
	// the password that URL carries, for Username, and ACL must have set it.
	Password string

	// ACL holds the lines of an ACL file, such as
	// "user locker on >secret ~* +@all". The server gets one more user, with
	// every permission and a random password, for Dial, Do and its own start.
	// As in every ACL file, a default user that is not listed has no password
	// and every permission; "user default off" shuts that door.
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

	// Args are further arguments, such as "--maxmemory", "100mb". They override
	// the defaults, but must not set what this package itself has to know.
	Args []string
}

// managed are the directives that Args must not set, and the field to use instead.
var managed = map[string]string{
	"port":           "Config.Port",
	"tls-port":       "Config.TLS",
	"requirepass":    "Config.Password",
	"aclfile":        "Config.ACL",
	"user":           "Config.ACL",
	"unixsocket":     "Config.UnixSocket",
	"appendonly":     "Config.AppendOnly",
	"appendfsync":    "Config.AppendOnly",
	"dir":            "the server's own directory",
	"logfile":        "Server.Log",
	"syslog-enabled": "Server.Log",
	"daemonize":      "nothing: the process has to stay a child",
}

func (c *Config) validate() error {
	if c.Port < 0 || c.Port > 65535 {
		return fmt.Errorf("redistest: Config.Port is %d; accepted: 0 (choose one) to 65535", c.Port)
	}
	if !slices.Contains([]AppendOnly{AppendOff, AppendEverySec, AppendAlways}, c.AppendOnly) {
		return fmt.Errorf("redistest: Config.AppendOnly is %q; accepted: %q (off), %q, %q",
			c.AppendOnly, AppendOff, AppendEverySec, AppendAlways)
	}
	if c.Username != "" && (len(c.ACL) == 0 || c.Password == "") {
		return fmt.Errorf("redistest: Config.Username is %q; accepted only together with ACL and Password", c.Username)
	}
	for _, line := range c.ACL {
		if !strings.HasPrefix(line, "user ") || strings.ContainsAny(line, "\r\n") {
			return fmt.Errorf("redistest: Config.ACL holds %q; accepted: single lines that begin with \"user \"", line)
		}
		if fields := strings.Fields(line); len(fields) < 2 || fields[1] == harnessUser {
			return fmt.Errorf("redistest: Config.ACL holds %q; accepted: any user name but %q", line, harnessUser)
		}
	}
	return c.validateArgs()
}

func (c *Config) validateArgs() error {
	if len(c.Args) > 0 && !strings.HasPrefix(c.Args[0], "--") {
		return fmt.Errorf("redistest: Config.Args begins with %q; accepted: a directive, such as --maxmemory", c.Args[0])
	}
	for _, arg := range c.Args {
		// "--port" and its value may come as one argument.
		directive, ok := strings.CutPrefix(arg, "--")
		if !ok {
			continue
		}
		directive, _, _ = strings.Cut(strings.ToLower(directive), " ")
		if instead, ok := managed[directive]; ok {
			return fmt.Errorf("redistest: Config.Args holds %q, which this package sets; use %s", arg, instead)
		}
	}
	return nil
}
