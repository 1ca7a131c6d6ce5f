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

// defaultPath is where programs are where there is no PATH.
const defaultPath = "/bin:/usr/bin"

// An InterpreterError says that the interpreter is missing which a script names in its first line.
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

const headSize = 256 // the kernel's

// headOf is the beginning of a file, by which the kernel and shells know what it is.
func headOf(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil // it may be run all the same
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
	if !is || len(words) == 0 || len(words) == 1 && !whole && len(head) == headSize { // a name that is cut off is none
		return nil
	}
	if _, err := os.Stat(string(words[0])); errors.Is(err, fs.ErrNotExist) {
		return &InterpreterError{string(words[0])}
	}
	return nil
}

// fork starts the command. The kernel does not know what a script without an interpreter
// is; then it is one of the shell, unless it is a program of another system.
func (c *Command) fork(sys *syscall.SysProcAttr) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: c.Env, Files: []uintptr{0, 1, 2}, Sys: sys}
	pid, err = syscall.ForkExec(c.Path, c.Args, attr)
	if errors.Is(err, syscall.ENOEXEC) && bytes.IndexByte(headOf(c.Path), 0) < 0 {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), attr)
	}
	return pid, err
}
