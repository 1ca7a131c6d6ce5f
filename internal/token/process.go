package token

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
)

// ProcessOwner returns a name for this process as the owner of locks: user@host/pid.
// CheckOwner accepts it. It is "" if the host has no name.
var ProcessOwner = sync.OnceValue(func() string {
	username, host := userAndHost()
	if host == "" {
		return ""
	}
	return personOn(username, host, fmt.Sprintf("/%d", os.Getpid()), maxOwner)
})

// Operator returns a name for the user of this process: user@host, of at most longest bytes.
func Operator(longest int) string {
	username, host := userAndHost()
	return personOn(username, host, "", longest)
}

func userAndHost() (username, host string) {
	if u, err := user.Current(); err == nil {
		username = u.Username
	} else {
		username = "uid" + strconv.Itoa(os.Getuid())
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return username, host
}

// longestUser leaves room for the host's name.
const longestUser = 20

// personOn joins the parts. It shortens them, and leaves out characters that an owner's
// name must not have.
func personOn(username, host, tail string, longest int) string {
	plain := func(r rune) rune {
		if r <= ' ' || r > '~' || r == ':' {
			return '-'
		}
		return r
	}
	username, host = strings.Map(plain, username), strings.Map(plain, host)
	username = username[:min(len(username), longestUser)]
	room := longest - len(username) - len("@") - len(tail)
	return username + "@" + host[:min(len(host), room)] + tail
}
