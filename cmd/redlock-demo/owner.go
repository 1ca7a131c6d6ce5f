package main

import (
	"fmt"
	"os"
	"os/user"
	"strings"
)

// thisProcess is a name for this process as the owner of a lock: user@host/pid, as
// far as that can be told. It is one that redlock.WithOwner takes.
func thisProcess() string {
	who := "?"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return ownerName(who, host, os.Getpid())
}

const (
	longestUser  = 20 // bytes
	longestOwner = 64 // of redlock.WithOwner
)

// ownerName puts the parts together, shortened and without what no owner's name
// may have.
func ownerName(who, host string, pid int) string {
	plain := func(r rune) rune {
		if r <= ' ' || r > '~' || r == ':' {
			return '-'
		}
		return r
	}
	who, host = strings.Map(plain, who), strings.Map(plain, host)
	who = who[:min(len(who), longestUser)]
	tail := fmt.Sprintf("/%d", pid)
	room := longestOwner - len(who) - len("@") - len(tail)
	return who + "@" + host[:min(len(host), room)] + tail
}
