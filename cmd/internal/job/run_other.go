//go:build !unix

package job

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Ending are the signals that ask a process to end.
var Ending = []os.Signal{os.Interrupt, syscall.SIGTERM}

// Writing are the signals that a process gets for its own writes.
var Writing = []os.Signal{syscall.SIGPIPE}

// NameOf describes a signal.
func NameOf(s syscall.Signal) string { return s.String() }

// An InterpreterError does not occur here.
type InterpreterError struct{ error }

// Find finds a program.
func Find(name string) (string, error) { return exec.LookPath(name) }

// EndBy does nothing: no process ends by a signal here.
func EndBy(syscall.Signal, bool) {}

// Run starts the command and returns when it has ended. An error means that it
// could not be started.
//
// There are no process groups here: what the command starts is neither waited
// for nor ended. Ctrl-C reaches the command from its console, so nothing is
// forwarded. After a loss the command is killed at once, since it cannot be asked to end.
func (c *Command) Run() (Result, error) {
	cmd := &exec.Cmd{Path: c.Path, Args: c.Args, Env: c.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	c.Started()
	if err := cmd.Start(); err != nil {
		return Result{}, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the command
	var result Result
	lost := c.Lost
	for {
		select {
		case <-c.Signals:
		case <-lost:
			lost = nil
			result.Lost, result.Killed = true, true
			_ = cmd.Process.Kill()
		case err := <-done:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				result.Code = exit.ExitCode()
			}
			result.Ended = true
			return result, nil
		}
	}
}

// Room checks nothing on this system.
func Room() error { return nil }
