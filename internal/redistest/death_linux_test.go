package redistest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/internal/testutil"
)

func TestServersDieWithAParentThatIsKilled(t *testing.T) {
	needRedis(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), parentVariable+"=1", "TMPDIR="+t.TempDir())
	parent.Stderr = os.Stderr
	stdin, err := parent.StdinPipe() // its end would end the parent in order
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	decodeErr := json.NewDecoder(stdout).Decode(&pids)
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("server %d does not run while its parent does", pid)
		}
	}
	defer func() { // a test that fails must leave nothing either
		for _, pid := range pids {
			if alive(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent ended in order; it was to be killed")
	}
	if decodeErr != nil || len(pids) != 2 {
		t.Fatalf("the parent printed %v (%v); want two process ids", pids, decodeErr)
	}
	for _, pid := range pids {
		testutil.Eventually(t, fmt.Sprintf("server %d is gone after its parent", pid), func() bool { return !alive(pid) })
	}
}

// For the kernel, the parent of a process is the thread that forked it.
func TestAServerOutlivesTheThreadThatAskedForIt(t *testing.T) {
	needRedis(t)
	for range 10 {
		var s *Server
		var err error
		thread := make(chan int)
		go func() {
			runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
			if syscall.Gettid() != os.Getpid() {
				s, err = Launch(t.Context(), Config{})
			}
			thread <- syscall.Gettid()
		}()
		tid := <-thread
		if tid == os.Getpid() {
			continue // the main thread never ends; try another
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		testutil.Eventually(t, "the thread ends", func() bool { return !exists(fmt.Sprintf("/proc/self/task/%d", tid)) })
		if reply := do(t, s, "PING"); reply != "PONG" {
			t.Errorf("PING: %v", reply)
		}
		return
	}
	t.Fatal("ten goroutines in a row ran on the main thread")
}
