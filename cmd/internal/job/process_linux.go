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

// ofThisSystem are the signals that end a process and are not on all systems: among them those of real time.
var ofThisSystem = func() []os.Signal {
	all := []os.Signal{syscall.SIGPWR, syscall.SIGSTKFLT}
	for s := syscall.Signal(35); s <= 64; s++ { // those before are the C libraries', and cannot be had
		all = append(all, s)
	}
	return all
}()

// attributes gives the command a process group of its own, and SIGTERM should
// this process die without a word, as by SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// orphansAreOurs: who descends from this process is its child when nobody nearer is left.
const orphansAreOurs = true

// stop suspends a process, or the group of this one, by SIGTSTP: who looks after this
// process takes SIGSTOP for no key. Package signal cannot give SIGTSTP its default back;
// Notify takes it away again.
func stop(pid int) {
	signal.Ignore(syscall.SIGTSTP)
	var byDefault [64]byte // a struct sigaction
	_, _, failed := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(syscall.SIGTSTP), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	_ = syscall.Kill(pid, syscall.SIGTSTP)
	if failed != 0 { // the size of a set of signals is another
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// adoptOrphans makes the command's orphans this process's own children. They are reaped
// here: where process 1 does not do that, as in many containers, they would stay for
// ever. And none of them can hide from look.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // Linux 3.4
}

// Room is an error under a limit of the address space at which a Go program may end at any moment: for
// want of a thread, in the middle of the command.
func Room() error {
	const least = 2 << 30
	var space unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) != nil || space.Cur >= least {
		return nil
	}
	const text = "ulimit -v is %d kB: want %d or more: set a lower one within the command"
	return fmt.Errorf(text, space.Cur>>10, least>>10)
}

// processOf reads /proc. The error is ESRCH of one that has ended.
func processOf(pid string) (p process, err error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	// The name between them may hold any character.
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
	// Of a process without a first thread others may run still.
	if err == nil && (fields[0] == "Z" || fields[0] == "X") && number(17) <= 1 {
		err = syscall.ESRCH
	}
	return p, err
}

// alive reports whether it still is what it was: it has not ended, and has not left its
// session, as a daemon does a moment after it was started.
func (p process) alive() bool {
	if p.pid < 0 {
		return membersOf(-p.pid) != nil
	}
	now, err := processOf(strconv.Itoa(p.pid))
	return err == nil && now.id == p.id && now.session == p.session
}

// parentOf reads /proc.
func parentOf(pid int) (int, bool) {
	p, err := processOf(strconv.Itoa(pid))
	return p.parent, err == nil
}

// A family is all that descends from this process, but for children that it had before the command, and for theirs.
type family struct{ before map[id]bool }

// newFamily notes who was there before.
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

// look finds those that have not ended: here are those of our session, left are those that have left it, as daemons do.
// Where it is blind, the command's group stands for all. Where it is so for a moment, as without a free descriptor, it
// finds one of whom nothing is known.
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
	// The command has a group of its own: who is of this process's group descends from somebody else, whom no look
	// has seen.
	others := syscall.Getpgrp()
	for _, p := range all { // parents come first
		switch before[p.pid] = f.before[p.id] || before[p.parent] || p.group == others; {
		case before[p.pid]:
			f.before[p.id] = true // also when its parent has ended
		case p.session == ours:
			here = append(here, p)
		default:
			left = append(left, p)
		}
	}
	if here == nil && unix.Waitid(unix.P_PGID, group, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil {
		here = membersOf(group) // of another user, whom hidepid hides
	}
	return here, left
}

// descendants are all processes that descend from this one, parents before children. The error is
// errors.ErrUnsupported where /proc does not tell, or has the numbers of another namespace.
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
			return nil, err // and not where it has ended, or is hidden
		}
	}
	all = children[self]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all, nil
}
