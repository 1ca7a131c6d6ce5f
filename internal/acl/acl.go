// Package acl lists the permissions that an ACL user needs on the masters. It reads the
// commands of scripts from the scripts. Commands that are sent directly are listed here.
package acl

import (
	"slices"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/waitqueue"
)

// A Use is something that the library does on a master, and what the master has to
// permit for it in addition to the keys of the locks.
type Use struct {
	Name     string
	Vital    bool     // without it nothing can be locked
	Commands []string // in lower case, with subcommands as client|id, in order
	Keys     []string // patterns of the library's own keys
	Channels []string // patterns
}

// Names of uses.
const (
	Locks     = "locks"
	Holders   = "telling who holds a lock"
	Several   = "locks of several keys"
	Readers   = "read-write locks"
	Fencing   = "fencing tokens and the strict guard"
	Queue     = "waiting without polling, and releasing many locks at once"
	Guard     = "the guard"
	Database  = "a database other than 0"
	Handshake = "knowing the master, and keeping late commands of lost connections from being executed"
)

// Uses returns all that the library does, the most important first.
func Uses() []Use {
	return []Use{
		{Name: Locks, Vital: true, Commands: commands(
			script.Commands(script.Release, script.Extend, script.Verify), "set", "eval", "evalsha")},
		{Name: Holders, Commands: script.Commands(script.Holder, script.HolderAmong, script.Inspect)},
		{Name: Several, Commands: script.Commands(
			script.AcquireAll, script.ExtendAll, script.VerifyAll, script.ReleaseAll)},
		{
			Name: Readers, Keys: []string{"redquorum:intent:1:*"},
			Commands: commands(script.Commands(script.ReaderAcquire, script.ReaderExtend,
				script.ReaderVerify, script.ReaderRelease, script.WriterIntent), "zrem"),
		},
		{
			Name: Fencing, Keys: []string{"redquorum:fence:1:*", "redquorum:lease:1:*"},
			// Fenced scripts for several keys, readers and the queue call no further commands.
			Commands: script.Commands(
				script.GuardedAcquire, script.GuardedRelease, script.Raise, script.RaiseKnown, script.AcquireBatch),
		},
		{
			Name: Queue, Keys: []string{"redquorum:q:1:*"}, Channels: []string{waitqueue.ChannelPrefix + "*"},
			Commands: commands(
				script.Commands(script.Queue, script.ReleaseSet, script.ReleaseBatch), "subscribe", "ping"),
		},
		{Name: Guard, Keys: []string{guard.Key, guard.Sighting, guard.ListKey}, Commands: commands(
			script.Commands(guard.Scripts...), "eval", "evalsha", "info")},
		{Name: Database, Commands: []string{"select"}},
		{Name: Handshake, Commands: []string{
			"client|id", "client|kill", "client|setname", "info", "ping", "script|exists", "script|load"}},
	}
}

// commands returns what scripts call and what is sent directly, in order, each once.
func commands(called []string, sent ...string) []string {
	all := slices.Concat(called, sent)
	slices.Sort(all)
	return slices.Compact(all)
}

// Rules returns what to grant a user for all uses, as the arguments of ACL SETUSER: the
// keys that match locks, the library's own, its channels, and the commands.
func Rules(locks string) []string {
	keys, channels := []string{"~" + locks}, []string(nil)
	var permitted []string
	for _, u := range Uses() {
		for _, k := range u.Keys {
			keys = append(keys, "~"+k)
		}
		for _, c := range u.Channels {
			channels = append(channels, "&"+c)
		}
		permitted = commands(permitted, u.Commands...)
	}
	for i, c := range permitted {
		permitted[i] = "+" + c
	}
	return slices.Concat(keys, []string{"resetchannels"}, channels, []string{"-@all"}, permitted)
}
