//go:build unix

package job

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// defaultPath is the search path where PATH is not set.
const defaultPath = "/bin:/usr/bin"

// An InterpreterError says that the interpreter in the first line of a script is missing.
type InterpreterError struct{ Interpreter string }

func (e *InterpreterError) Error() string {
	text := fmt.Sprintf("its interpreter %q is not there", e.Interpreter)
	if strings.HasSuffix(e.Interpreter, "\r") {
		text += ": its lines end with CR LF"
	}
	return text
}

// Find finds a program as execvp does. The error is fs.ErrNotExist, an InterpreterError, or why it cannot be run.
func Find(name string) (string, error) {
	path, is := os.LookupEnv("PATH")
	if !is {
		path = defaultPath
	}
	var candidates []string
	for dir := range strings.SplitSeq(path, ":") {
		candidates = append(candidates, cmp.Or(dir, ".")+"/"+name)
	}
	if strings.Contains(name, "/") {
		candidates = []string{name}
	}
	failed := fs.ErrNotExist
	for _, candidate := range candidates {
		_, err := exec.LookPath(candidate)
		switch cause, ok := errors.AsType[*exec.Error](err); {
		case err == nil:
			return candidate, checkInterpreter(candidate)
		case ok && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			failed = cause.Err
		}
	}
	return "", failed
}

const headSize = 256 // as in the kernel

// headOf returns the beginning of a file, by which the kernel and shells recognize its type.
func headOf(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil // the system may still run it
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, headSize)
	n, _ := io.ReadFull(file, head)
	return head[:n]
}

func checkInterpreter(path string) error {
	head := headOf(path)
	line, is := bytes.CutPrefix(head, []byte("#!"))
	line, _, whole := bytes.Cut(line, []byte("\n"))
	words := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if !is || len(words) == 0 || len(words) == 1 && !whole && len(head) == headSize { // the name is cut off
		return nil
	}
	if _, err := os.Stat(string(words[0])); errors.Is(err, fs.ErrNotExist) {
		return &InterpreterError{string(words[0])}
	}
	return nil
}

// fork starts the command. The kernel does not run a script without an interpreter, so the shell
// runs it, unless a zero byte shows that it is a program of another system.
func (c *Command) fork(sys *syscall.SysProcAttr) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: c.Env, Files: []uintptr{0, 1, 2}, Sys: sys}
	pid, err = syscall.ForkExec(c.Path, c.Args, attr)
	if errors.Is(err, syscall.ENOEXEC) && bytes.IndexByte(headOf(c.Path), 0) < 0 {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), attr)
	}
	return pid, err
}
