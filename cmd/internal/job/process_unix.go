//go:build unix

package job

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// A process is one that the command has started, or their whole group if they cannot be listed.
type process struct {
	id
	name                   string
	parent, group, session int
	suspended              bool
}

// An id identifies a process: another one may have the same number later.
type id struct {
	pid   int    // negative: of a group; 0: of processes that could not be listed
	start string // when it was started
}

func (p process) String() string {
	switch {
	case p.pid < 0:
		return fmt.Sprintf("process group %d", -p.pid)
	case p.pid == 0:
		return "who it is cannot be seen: " + p.name
	}
	return fmt.Sprintf("pid %d (%s)", p.pid, p.name)
}

// listOf names processes, the first few of many.
func listOf(all []process) string {
	const most = 5
	var names []string
	for _, p := range all[:min(len(all), most)] {
		names = append(names, p.String())
	}
	if more := len(all) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// signal sends a signal, unless the process has ended and another one has its number.
func (p process) signal(s syscall.Signal) error {
	if !p.alive() {
		return syscall.ESRCH
	}
	return syscall.Kill(p.pid, s)
}

// membersOf returns the group as one process; nil: none of its processes is left.
func membersOf(group int) []process {
	if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		return nil
	}
	return []process{{id: id{pid: -group}, group: group}}
}
