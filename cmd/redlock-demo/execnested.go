package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// heldVariable tells a command which locks are held around it, as a list in JSON.
const heldVariable = "REDLOCK_HELD"

// heldAround is the keys of the locks that are held around this process, the
// innermost last. What is no such list says nothing.
func heldAround(env func(string) string) (keys []string) {
	if json.Unmarshal([]byte(env(heldVariable)), &keys) != nil {
		return nil
	}
	return keys
}

// heldWithin is heldVariable for a command under one lock more.
func heldWithin(around []string, key string) string {
	text, _ := json.Marshal(append(slices.Clip(around), key)) // of strings: it cannot fail
	return heldVariable + "=" + string(text)
}

// nested reports whether an outer exec holds the lock already: this one would wait
// for its own parent. With --reentrant the command runs under that lock, in place of
// this process; the error says why it does not.
func (o *execOptions) nested(a *app, key, path string, argv []string) (bool, error) {
	if !slices.Contains(heldAround(a.env), key) {
		return false, nil
	}
	switch {
	case !o.reentrant:
		return true, usagef("an outer exec holds lock %q already, and this one would wait for its own parent: --reentrant runs the command under that lock; if this lock is on other masters, unset %s", key, heldVariable)
	case o.json:
		return true, usagef("--json: with --reentrant the command replaces exec under the outer lock, so nothing is left to report")
	case o.fence && a.env("REDLOCK_FENCE") == "":
		return true, usagef("--fence: the outer exec holds lock %q without a fencing token", key)
	}
	return true, cannotRun(argv[0], fmt.Errorf("in place of this process: %w", syscall.Exec(path, argv, os.Environ())))
}
