package job

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// withoutFirstThread has this program, where it is set, end its first thread and work on in others.
const withoutFirstThread = "JOB_TEST_WITHOUT_FIRST_THREAD"

func init() { // which runs on the first thread
	if os.Getenv(withoutFirstThread) == "" {
		return
	}
	runtime.LockOSThread()
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = os.Stdout.WriteString("works\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestAProcessWithoutItsFirstThreadHasNotEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), withoutFirstThread+"=yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "works\n" {
		t.Fatal(line, err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	p, ok := processOf(pid)
	if !ok || p.pid != cmd.Process.Pid || p.parent != os.Getpid() {
		t.Errorf("%+v, %v", p, ok)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "a zombie has ended", func() bool { _, ok := processOf(pid); return !ok })
	if p.alive() {
		t.Error("it is alive")
	}
	_ = cmd.Wait()
}
