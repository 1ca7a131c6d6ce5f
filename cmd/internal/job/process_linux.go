package job

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ofThisSystem are the signals that end a process only on some systems, such as real-time signals.
var ofThisSystem = func() []os.Signal {
	all := []os.Signal{syscall.SIGPWR, syscall.SIGSTKFLT}
	for s := syscall.Signal(35); s <= 64; s++ { // the C libraries use those before, which cannot be caught
		all = append(all, s)
	}
	return all
}()

// attributes gives the command a process group of its own, and SIGTERM if this process
// dies suddenly, for example by SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// orphansAreOurs: a descendant becomes a child of this process when its parents have ended.
const orphansAreOurs = true

// stop suspends a process, or the group of this one, by SIGTSTP: the parent of this process
// does not take SIGSTOP for Ctrl-Z. Package signal cannot restore the default of SIGTSTP, so
// stop does; a later Notify replaces it again.
func stop(pid int) {
	signal.Ignore(syscall.SIGTSTP)
	var byDefault [64]byte // a struct sigaction
	_, _, failed := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(syscall.SIGTSTP), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	_ = syscall.Kill(pid, syscall.SIGTSTP)
	if failed != 0 { // the size of a signal set is not 8
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// adoptOrphans makes the command's orphans children of this process, which reaps them. Where
// process 1 does not reap, as in many containers, they would stay for ever. As children they
// also cannot hide from look.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // Linux 3.4
}

// Room returns an error if the limit of the address space is too low: a Go program may then
// die at any moment, in the middle of the command, because it gets no thread.
func Room() error {
	const least = 2 << 30
	var space unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) != nil || space.Cur >= least {
		return nil
	}
	const text = "ulimit -v is %d kB: want %d or more: set a lower one within the command"
	return fmt.Errorf(text, space.Cur>>10, least>>10)
}

// processOf reads a process from /proc. The error is ESRCH if it has ended.
func processOf(pid string) (p process, err error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	// The name in parentheses may contain any character.
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || begin < 0 || end < begin {
		return p, cmp.Or(err, error(syscall.ESRCH))
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 {
		return p, syscall.ESRCH
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i])
		return n
	}
	n, err := strconv.Atoi(pid)
	p = process{
		id: id{pid: n, start: fields[19]}, name: string(stat[begin+1 : end]),
		parent: number(1), group: number(2), session: number(3), suspended: fields[0] == "T" || fields[0] == "t",
	}
	// A process whose first thread has ended may still run others.
	if err == nil && (fields[0] == "Z" || fields[0] == "X") && number(17) <= 1 {
		err = syscall.ESRCH
	}
	return p, err
}

// alive reports whether the process has neither ended nor left its session, as a daemon does
// a moment after its start.
func (p process) alive() bool {
	if p.pid < 0 {
		return membersOf(-p.pid) != nil
	}
	now, err := processOf(strconv.Itoa(p.pid))
	return err == nil && now.id == p.id && now.session == p.session
}

// parentOf reads the parent of a process from /proc.
func parentOf(pid int) (int, bool) {
	p, err := processOf(strconv.Itoa(pid))
	return p.parent, err == nil
}

// A family is the descendants of this process, except children from before the command, and theirs.
type family struct{ before map[id]bool }

// newFamily records the descendants from before the command.
func newFamily() *family {
	f := &family{before: map[id]bool{}}
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil {
		return f // no children, as nearly always
	}
	all, _ := descendants()
	for _, p := range all {
		f.before[p.id] = true
	}
	return f
}

// look finds the processes that have not ended: here are those of our session, left those that
// left it, as daemons do. If it cannot list processes at all, it returns the command's group as
// one process; if it cannot for a moment (no free descriptor), an unknown process.
func (f *family) look(group int) (here, left []process) {
	all, err := descendants()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return membersOf(group), nil
	case err != nil:
		return []process{{name: err.Error()}}, nil
	}
	ours, _ := unix.Getsid(0)
	before := map[int]bool{}
	// The command has a group of its own: a process in our group descends from another child,
	// which no look has seen.
	others := syscall.Getpgrp()
	for _, p := range all { // parents come first
		switch before[p.pid] = f.before[p.id] || before[p.parent] || p.group == others; {
		case before[p.pid]:
			f.before[p.id] = true // also after its parent has ended
		case p.session == ours:
			here = append(here, p)
		default:
			left = append(left, p)
		}
	}
	if here == nil && unix.Waitid(unix.P_PGID, group, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil {
		here = membersOf(group) // of another user, hidden by hidepid
	}
	return here, left
}

// descendants returns all processes that descend from this one, parents before children. The error
// is errors.ErrUnsupported where there is no /proc, or it has the numbers of another namespace.
func descendants() (all []process, err error) {
	self := os.Getpid()
	if name, err := os.Readlink("/proc/self"); err != nil || name != strconv.Itoa(self) {
		return nil, errors.ErrUnsupported
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		switch p, err := processOf(name); {
		case err == nil:
			children[p.parent] = append(children[p.parent], p)
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
			return nil, err // otherwise it has ended, or is hidden
		}
	}
	all = children[self]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all, nil
}
