package job

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/internal/testutil"
)

// While a group was suspended nothing was renewed, and the loss may not be known yet when
// somebody continues it.
func TestASuspendedGroupGoesOnOnlyWithTheLock(t *testing.T) {
	dir := t.TempDir()
	pidFile, went := filepath.Join(dir, "pid"), filepath.Join(dir, "went")
	signals := make(chan os.Signal) // a send returns when Run has handled the signal before
	var held atomic.Bool
	c := &Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", `echo $$ >"$0"; kill -STOP $$; : >"$1"; exit 3`, pidFile, went},
		Signals: signals, Started: func() {}, Held: held.Load,
	}
	type outcome struct {
		result Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := c.Run()
		done <- outcome{result, err}
	}()
	suspended := func() bool {
		pid, _ := os.ReadFile(pidFile)
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%s/stat", strings.TrimSpace(string(pid))))
		return bytes.Contains(stat, []byte(") T "))
	}
	testutil.Eventually(t, "the command is suspended", suspended)
	send := func(s syscall.Signal) {
		t.Helper()
		select {
		case signals <- s:
		case o := <-done:
			t.Fatalf("it has gone on without the lock: %+v", o)
		}
	}
	send(syscall.SIGCONT)
	send(syscall.SIGWINCH) // the command ignores it
	held.Store(true)
	if _, err := os.Stat(went); err == nil || !suspended() {
		t.Error("it has gone on without the lock")
	}
	send(syscall.SIGCONT)
	if o := <-done; o.err != nil || o.result != (Result{Ended: true, Code: 3}) {
		t.Errorf("%+v", o)
	}
}
