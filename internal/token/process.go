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
	who, host := userAndHost()
	if host == "" {
		return ""
	}
	return personOn(who, host, fmt.Sprintf("/%d", os.Getpid()), maxOwner)
})

// Operator returns a name for the user of this process: user@host, of at most longest bytes.
func Operator(longest int) string {
	who, host := userAndHost()
	return personOn(who, host, "", longest)
}

func userAndHost() (who, host string) {
	if u, err := user.Current(); err == nil {
		who = u.Username
	} else {
		who = "uid" + strconv.Itoa(os.Getuid())
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return who, host
}

// longestUser leaves room for the host's name.
const longestUser = 20

// personOn joins the parts. It shortens them, and leaves out characters that an owner's
// name must not have.
func personOn(who, host, tail string, longest int) string {
	plain := func(r rune) rune {
		if r <= ' ' || r > '~' || r == ':' {
			return '-'
		}
		return r
	}
	who, host = strings.Map(plain, who), strings.Map(plain, host)
	who = who[:min(len(who), longestUser)]
	room := longest - len(who) - len("@") - len(tail)
	return who + "@" + host[:min(len(host), room)] + tail
}
