package main

import (
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/release"
)

// thisProcess is a name for this process as the owner of a lock: user@host/pid, as
// far as that can be told. It is one that redlock.WithOwner takes.
func thisProcess() string {
	who, host := userAndHost()
	return ownerName(who, host, os.Getpid())
}

// thisOperator is a name for whoever runs this process: user@host.
func thisOperator() string {
	who, host := userAndHost()
	return nameOf(who, host, "", release.LongestOperator)
}

// userAndHost are "?" where they cannot be told.
func userAndHost() (who, host string) {
	who = "?"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return who, host
}

const (
	longestUser  = 20 // bytes
	longestOwner = 64 // of redlock.WithOwner
)

// ownerName puts the parts together, shortened and without what no owner's name
// may have.
func ownerName(who, host string, pid int) string {
	return nameOf(who, host, fmt.Sprintf("/%d", pid), longestOwner)
}

// nameOf is that with any tail, in so many bytes.
func nameOf(who, host, tail string, longest int) string {
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
